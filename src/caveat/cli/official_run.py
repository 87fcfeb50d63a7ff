"""caveat measure --loadgen: the same scenario through MLCommons' own LoadGen, its logs kept and read as anybody's.

The Run is what the importer reads in the logs, with what only the caller knows: model, interface, decoding. It names
no round, whatever its seeds are: it is a measurement of one's own and unverified.
"""

from __future__ import annotations

import random
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from caveat import __version__
from caveat.cli.carry_out import kept
from caveat.cli.console import emit, show_lines
from caveat.cli.measured import is_valid, measured_json, print_measured
from caveat.errors import EXIT_NO, EXIT_YES, CaveatError
from caveat.figures import Check, Run, Value, conditions_of
from caveat.importers import read
from caveat.ledger import Ledger
from caveat.loadgen import SAMPLES, Endpoint, Spec, prompts_for
from caveat.loadgen import official as bridge
from caveat.measure import columns_of, summarize, unchecked

SUITE = "own measurement, with the official LoadGen"
UNREVIEWED = "Nobody but this machine has seen the run: it is unverified and not an MLPerf result."
_SLACK_S = 120.0
_TIMES = 4.0  # what the arrivals take: an overloaded server answers for longer than they last
_OF_A_ROUND = ("round", "division", "submitter", "benchmark", "accuracy_track", "fingerprint")
_OF_THE_PLAN = (
    "dataset",
    "input_tokens",
    "input_tokens_requested",
    "output_tokens_requested",
    "prefix_reuse",
    "prefix_reuse_share",
    "sessions",
    "output_tokens_cap",
)
# What the client's own samples of the same run say of the client: LoadGen does not ask whether it was the limit.
_OF_THE_CLIENT = ("arrivals", "client health")


def run_official(
    spec: Spec,
    book: Ledger,
    rng: random.Random,
    *,
    deadline_s: float | None,
    gate: Run | None,
    full: bool,
    as_json: bool,
) -> int:
    """Run, keep and print. Exit 0 where LoadGen says VALID and nothing stands against it, 1 else.

    `gate` is an accuracy run whose verdict the run carries. LoadGen cannot be stopped: after Ctrl-C there is no run.
    """
    bridge.require_loadgen()
    prompts, _, _ = prompts_for(spec, rng, None)
    settings = bridge.settings_of(spec, prompts)
    subject = f"measured/{uuid.uuid4().hex}"
    folder = book.path / subject
    lasts_s = max(settings.min_duration_s, settings.min_queries / settings.target_qps if _is_open(spec) else 0.0)
    shown = not as_json and sys.stderr.isatty()
    done = _done(
        settings,
        spec.endpoint,
        folder,
        deadline_s=_TIMES * lasts_s + _SLACK_S if deadline_s is None else deadline_s,
        progress=_show if shown else None,
    )
    run = kept(read_back(folder, spec, done, subject), gate, book)
    if as_json:
        emit(measured_json([run], loadgen={"verdict": done.verdict, "problems": list(done.problems)}))
    else:
        print_measured(run, full=full)
        show_lines([f"logs: {done.folder}"], indent=0)
    return EXIT_YES if done.valid and is_valid(run) else EXIT_NO


def _done(
    settings: bridge.OfficialSettings,
    endpoint: Endpoint,
    folder: Path,
    *,
    deadline_s: float,
    progress: Callable[[bridge.OfficialProgress], None] | None,
) -> bridge.OfficialRun:
    """LoadGen's run; its line of progress is gone afterwards, and Ctrl-C says what stays."""
    try:
        return bridge.official_run(settings, endpoint, folder, deadline_s=deadline_s, progress=progress)
    except KeyboardInterrupt:
        _clear(progress)
        print(f"caveat: interrupted: LoadGen gave no verdict, no run was kept; its logs: {folder}", file=sys.stderr)
        raise
    finally:
        _clear(progress)


def _clear(progress: object) -> None:
    if progress is not None:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _is_open(spec: Spec) -> bool:
    return spec.scenario is not None and spec.scenario.name in ("server", "interactive")


def _show(progress: bridge.OfficialProgress) -> None:
    said = f"{progress.elapsed_s:.0f} s  {progress.completed:,} of {progress.issued:,} issued answered, "
    print(f"\r\x1b[K{said}{progress.failed:,} failed", end="", file=sys.stderr, flush=True)


def read_back(folder: Path, spec: Spec, done: bridge.OfficialRun, subject: str) -> Run:
    """The Run that the importer makes of the logs, under our subject, with the shape that our samples show.

    CaveatError where the logs hold none.
    """
    found = read([folder / "mlperf_log_detail.txt"], verify=True)
    if len(found.runs) != 1:
        said = "; ".join([*done.problems, *(problem.message for problem in found.problems)])
        raise CaveatError(f"LoadGen's logs hold no run: {said or 'nothing was logged'}", next=f"see {folder}")
    run = found.runs[0]
    kept = {key: value for key, value in run.conditions.known.items() if key not in _OF_A_ROUND}
    seen = summarize(columns_of(folder / SAMPLES), workload=spec.plan().describe())
    shape = {key: seen.conditions.get(key) for key in _OF_THE_PLAN}
    client = tuple(check for check in seen.validity if check.aspect in _OF_THE_CLIENT and check.outcome != "unknown")
    return msgspec.structs.replace(
        run,
        subject=subject,
        samples=f"{subject}/{SAMPLES}",
        conditions=conditions_of({**shape, **kept, **_said(spec)}, not_applicable=run.conditions.not_applicable),
        validity=(*_logged(run), *client, *_checks(done), unchecked()),
        provenance=msgspec.structs.replace(run.provenance, tool_version=__version__),
        notes=(_endpoint(spec), *run.notes, *done.problems),
    )


def _logged(run: Run) -> Iterator[Check]:
    """What the logs say, each in a sentence: LoadGen has a word for most."""
    for check in run.validity:
        if check.aspect != "review":
            passed = check.outcome == "pass"
            said = check.sentence or (passed and _PASSED.get(check.aspect)) or f"LoadGen: {_LOGGED[check.outcome]}."
            yield msgspec.structs.replace(check, sentence=said)


_PASSED = {
    "errors": "LoadGen logged no error.",
    "consistency": "Counts, rates and times of the logs agree with each other.",
    "sources agree": "The logs say the same wherever they say it twice.",
}
_LOGGED = {"pass": "met", "fail": "not met", "unknown": "not said", "not applicable": "not asked for"}


def _endpoint(spec: Spec) -> str:
    """The same words as in the notes of any other run: the accuracy gate compares them."""
    return "endpoint: " + ", ".join(f"{name} {value}" for name, value in spec.endpoint.describe().items())


def _said(spec: Spec) -> dict[str, Value | None]:
    """What the logs cannot know."""
    scenario = spec.scenario
    assert scenario is not None
    return {
        "scenario": scenario.name,
        **{
            key: value for key, value in scenario.conditions().items() if key in ("profile", "profile_changes", "seeds")
        },
        "model": spec.endpoint.model,
        "decoding": spec.decoding.describe(),
        "salted": spec.salts(),
        "api": f"{spec.endpoint.dialect}, {'streamed' if spec.endpoint.stream else 'whole answers'}",
        "suite": SUITE,
        "review": "unverified",
        "modality": "text",
        **spec.known,
    }


def _checks(done: bridge.OfficialRun) -> Sequence[Check]:
    """What stands against LoadGen's verdict: requests that failed, logs that differ from what was asked, the client."""
    checks = [Check(aspect="errors", outcome="fail", sentence=text) for text in done.problems]
    checks += [Check(aspect="client health", outcome="fail", sentence=text) for text in done.client_limits]
    checks.append(Check(aspect="review", outcome="unknown", sentence=UNREVIEWED))
    return checks
