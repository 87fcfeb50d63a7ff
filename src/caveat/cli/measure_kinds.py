"""Which options of `caveat measure` mean something beside which: what would be passed over in silence is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caveat.errors import UsageError

KINDS = ("--find-peak", "--baseline", "--loadgen", "--accuracy")
"""Measurements that are not the usual one; at most one of them is made."""

_OF_THE_ENDPOINT = (
    *("url", "--model", "--key-env", "--header", "--completions", "--no-stream", "--known", "--wait"),
    *("--extra-body", "--ca-file", "--no-verify"),
)
_OF_THE_OUTPUT = ("--json", "--ledger")

ONLY_BESIDE: dict[str, tuple[str, ...]] = {
    "--peak-width": ("--find-peak",),
    "--peak-within": ("--find-peak",),
    "--no-confirm": ("--find-peak",),
    "--deadline": ("--loadgen",),
    "--require": ("--accuracy",),
    "--accuracy-like": ("--accuracy",),
    "--accuracy-score": ("--accuracy",),
    "--accuracy-pattern": ("--accuracy",),
    "--price-in": ("--dry-run",),
    "--price-out": ("--dry-run",),
    "--cool-down": ("--sweep", "--repeats"),
    "--same-draw": ("--repeats",),
}
"""An option, and those of which one must stand beside it."""

NOTHING_BUT: dict[str, tuple[str, ...]] = {
    "--accuracy": (
        *("--require", "--accuracy-like", "--accuracy-score", "--accuracy-pattern", "--concurrency", "--tokenizer"),
        *(*_OF_THE_ENDPOINT, *_OF_THE_OUTPUT),
    ),
    "--baseline": (
        *("--profile", "--short", "--min-duration", "--min-queries", "--samples", "--slo"),
        *("--rate", "--input", "--output", "--seed", "--dataset"),
        *("--processes", "--tokenizer", "--no-salt", "--no-probe", "--recalibrate", "--no-calibrate"),
        *("--temperature", "--any-length", "--chunk-times"),
        *(*_OF_THE_ENDPOINT, *_OF_THE_OUTPUT),
    ),
}
"""An option, and all that may stand beside it."""

NEVER_BESIDE: dict[str, tuple[str, ...]] = {
    "--find-peak": (
        *("--concurrency", "--duration", "--requests", "--sweep", "--repeats"),
        *("--dry-run", "--accuracy-run"),
    ),
    "--loadgen": ("--sweep", "--repeats", "--processes", "--recalibrate"),
    "--no-calibrate": ("--recalibrate",),
    "--full": ("--sweep", "--repeats", "--dry-run", "--json"),
}
"""An option, and what it has no use for."""

_WHY = {
    "--accuracy": "which asks every row of its file once and times nothing",
    "--baseline": "which chooses scenarios and rates by itself, run after run",
    "--find-peak": "which chooses rate and length of every probe by itself, in open loop",
    "--full": "which is about the screen of one run",
    "--loadgen": "which is one run with one client",
    "--no-calibrate": "which says the opposite",
}


def kind_of(said: Sequence[str]) -> str:
    """The one kind of measurement that is not the usual; empty for the usual. UsageError for two of them."""
    names = [name for name in KINDS if name in said]
    if len(names) > 1:
        raise UsageError(f"found {', '.join(names)}, expected one of them", next="measure one thing at a time")
    return "".join(names)


def check_options(said: Sequence[str]) -> None:
    """Refuse options that another one makes meaningless. `said` are those that stand on the command line.

    UsageError naming all of them and why.
    """
    kind_of(said)
    for option, others in ONLY_BESIDE.items():
        if option in said and not any(other in said for other in others):
            raise UsageError(
                f"found {option} without {' or '.join(others)}: nothing else has a use for it",
                next=f"leave out {option}, or add {others[0]}",
            )
    for option, wrong in _refused(said):
        raise UsageError(f"found {', '.join(wrong)} beside {option}, {_WHY[option]}", next=f"leave out {wrong[0]}")


def _refused(said: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for option, allowed in NOTHING_BUT.items():
        wrong = [other for other in said if other != option and other not in allowed]
        if option in said and wrong:
            yield option, wrong
    for option, useless in NEVER_BESIDE.items():
        wrong = [other for other in said if other in useless]
        if option in said and wrong:
            yield option, wrong
