"""A tree in its true format whose Server log can be played again: the v5.1 run of the reference vectors."""

from pathlib import Path

from tests.importers.loadgen_files import values, write_result


def write_redhat(root: Path, *, duration_ns: int = 674_472_826_893) -> Path:
    """One Server result below `root`; with another duration than the true one its schedule differs."""
    said = values(
        "Server",
        round_name="v5.1",
        effective_target_qps=39.5,
        effective_min_duration_ms=600_000,
        effective_min_query_count=100,
        effective_performance_sample_count=13_368,
        generated_query_count=26_736,
        result_query_count=26_736,
        generated_query_duration=duration_ns,
    )
    return write_result(root, submitter="Acme", said=said)
