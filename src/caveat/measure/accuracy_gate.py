"""The gate: a throughput run is told what its accuracy run showed, if the two asked the same thing of the same model.

Speed that was bought with wrong answers is not the speed of the model. The suite keeps the two runs apart, since an
accuracy run is not timed; here too, and the one points to the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from caveat.errors import RefusedError
from caveat.figures import SHOWN, TABLE, Check, Run
from caveat.measure.scoring import KINDS

_GATES = ("accuracy", "output length")
_TAKEN = ("accuracy", "accuracy_required", "accuracy_tokens_per_sample")
# What must be alike where both runs know it: the model, the system and the stack, but for what a run only observes.
_OBSERVED = (*_TAKEN, "power_w", "prefix_caching")
_ALIKE = tuple(row.key for row in TABLE if row.group in ("model", "system", "stack") and row.key not in _OBSERVED)
_FORCED = "exact length asked for"
_ENDPOINT = "endpoint: "
_FIELDS = re.compile(r"(?:^|, )(?=(?:url|model|dialect|streaming|key|headers|extra_body|certificate) )")


def is_accuracy_run(run: Run) -> bool:
    """Whether the run has scores of its own; a timed run has the entry at most, and rates."""
    scores = {kind.metric for kind in KINDS}
    return any(check.aspect == "accuracy" for check in run.validity) and any(row.metric in scores for row in run.rows)


def with_accuracy(run: Run, accuracy: Run) -> Run:
    """The throughput run with the entries and conditions of an accuracy run, which its notes name.

    Raises RefusedError where `accuracy` is none, or asked another endpoint, model, stack, API or decoding.
    """
    entries = [check for check in accuracy.validity if check.aspect in _GATES]
    if not is_accuracy_run(accuracy):
        raise RefusedError(
            f"accuracy: {accuracy.id[:SHOWN]} is no accuracy run: it has no entry of accuracy",
            next="give the id of a run that was made with a data set and references",
        )
    for what, here, there in _differences(run, accuracy):
        raise RefusedError(
            f"accuracy: {what}: found {here} in the run and {there} in the accuracy run {accuracy.id[:SHOWN]}, "
            "expected one and the same",
            next="make an accuracy run of this very endpoint and decoding",
        )
    taken = {key: value for key in _TAKEN if (value := accuracy.conditions.get(key)) is not None}
    kept = tuple(check for check in run.validity if check.aspect != "accuracy")
    return msgspec.structs.replace(
        run,
        conditions=msgspec.structs.replace(run.conditions, known={**run.conditions.known, **taken}),
        validity=(*kept, *(_pointed(check, run, accuracy) for check in entries)),
        notes=(*run.notes, f"accuracy run: {accuracy.id}"),
    )


def _pointed(check: Check, run: Run, accuracy: Run) -> Check:
    """The entry with where it comes from."""
    where = accuracy.conditions.text("dataset")
    said = f"Accuracy run {accuracy.id[:SHOWN]} over {where}: {check.sentence}"
    if _FORCED in run.conditions.text("decoding"):
        said += " The timed run forced the length of its answers, the accuracy run did not."
    return msgspec.structs.replace(check, sentence=said)


def _differences(run: Run, accuracy: Run) -> Iterator[tuple[str, str, str]]:
    """(what, here, there) of everything that must be alike and is not."""
    for key in _ALIKE:
        here, there = run.conditions.get(key), accuracy.conditions.get(key)
        if here is not None and there is not None and here != there:
            yield key, run.conditions.text(key), accuracy.conditions.text(key)
    for what, part in (("decoding", _sampling), ("api", _dialect), ("endpoint", _endpoint)):
        one, other = part(run), part(accuracy)
        if one != other:
            yield what, one or "nothing", other or "nothing"


def _sampling(run: Run) -> str:
    """How tokens were chosen; whether answers end by themselves is said apart."""
    return ", ".join(part for part in run.conditions.text("decoding").split(", ") if part != _FORCED)


def _dialect(run: Run) -> str:
    """The API, and so the chat template; whether answers were streamed does not change them."""
    return run.conditions.text("api").partition(",")[0]


def _endpoint(run: Run) -> str:
    """The address and the further fields of every request, of the note that a measured run has of its endpoint."""
    note = next((note for note in run.notes if note.startswith(_ENDPOINT)), "")
    parts = _FIELDS.split(note.removeprefix(_ENDPOINT))
    return ", ".join(part for part in parts if part.startswith(("url ", "extra_body ")))
