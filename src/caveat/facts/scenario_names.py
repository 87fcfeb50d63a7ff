"""The scenarios of a benchmark round under the names that caveat uses, and the spellings found in files."""

from __future__ import annotations

SCENARIOS = ("offline", "server", "interactive", "single-stream", "multi-stream")

_SPELLINGS = {name.replace("-", ""): name for name in SCENARIOS}


def scenario_of(name: str) -> str | None:
    """Our name of a scenario, whatever its case and separators: `SingleStream`, `single_stream`, `Offline`.

    None for anything that is no scenario. Source: scenario directories and summary tables of v4.1 to v6.1.
    """
    plain = name.strip().lower().replace("-", "").replace("_", "").replace(" ", "")
    return _SPELLINGS.get(plain)


def scenario_within(name: str) -> str | None:
    """The scenario that a benchmark's name implies, or None.

    In v5.0 the tight limits were benchmarks of their own (`llama2-70b-interactive-99`), whose directories say
    Server; LoadGen still spells them `<model>-interactive`. Source: submission checker, mlperf.conf.
    """
    return "interactive" if "-interactive" in name.strip().lower() else None
