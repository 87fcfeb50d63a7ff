"""What `caveat measure` was asked for, as Specs: from options, from a file, or from an earlier run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from caveat.cli.scenario_options import ScenarioWords, dataset_file, scenario_of, scenario_workload
from caveat.cli.spec_options import body_fields, decoding, headers, known, slo, sweep, warmup
from caveat.cli.workload_options import Words, at_point, stop_after_s, workload, workload_file, workload_of_set
from caveat.errors import UsageError
from caveat.ledger import Ledger
from caveat.loadgen import UNNAMED, DatasetFile, Decoding, Endpoint, Replay, Settings, Spec, read_folder, read_spec
from caveat.measure import Scenario
from caveat.workload import Workload

SAMPLE_FOLDERS = ("measured", "simulated")
"""Where the samples of runs stand inside a ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options that shape an experiment. None, False and empty are what was not said."""

    words: Words
    url: str | None = None
    spec_file: Path | None = None
    like: str | None = None
    workload_path: Path | None = None
    replay: Replay | None = None
    model: str | None = None
    limits: str | None = None
    warm: str | None = None
    points: str | None = None
    processes: int | None = None
    key_env: str | None = None
    header: Sequence[str] = ()
    body: Sequence[str] = ()
    ca_file: Path | None = None
    unverified: bool = False
    completions: bool = False
    whole: bool = False
    temperature: str | None = None
    any_length: bool = False
    chunk_times: bool = False
    rules: ScenarioWords = field(default_factory=ScenarioWords)
    dataset_path: Path | None = None
    facts: Sequence[str] = ()
    tokenizer: Path | None = None
    unsalted: bool = False
    unprobed: bool = False


def specs(asked: Asked, book: Ledger) -> list[Spec]:
    """One spec, or one for each point of the sweep. The model may still be UNNAMED."""
    if asked.spec_file is not None or asked.like is not None:
        base = _given(asked, book)
        return _swept(asked, lambda what, value: at_point(base, what, value)) or [base]
    if asked.workload_path is not None or asked.replay is not None:
        base = _described(asked, asked.words)
        return _swept(asked, lambda what, value: at_point(base, what, value)) or [base]
    return _swept(asked, lambda what, value: _described(asked, asked.words.at(what, value))) or [
        _described(asked, asked.words)
    ]


def samples_folder(book: Ledger, samples: str | None) -> Path | None:
    """The folder of a run's samples, where they stand inside the ledger; a document may name any path."""
    if samples is None:
        return None
    folder = (book.path / samples).parent
    inside = any(folder.resolve().is_relative_to((book.path / name).resolve()) for name in SAMPLE_FOLDERS)
    return folder if inside else None


def _swept(asked: Asked, make: Callable[[str, float], Spec]) -> list[Spec]:
    if asked.points is None:
        return []
    what, values = sweep(asked.points)
    try:
        return [make(what, value) for value in values]
    except UsageError as error:
        if not error.message.startswith(f"--{what}:"):
            raise
        raise UsageError(f"--sweep {error.message.removeprefix('--')}", next="change --sweep") from error


def _given(asked: Asked, book: Ledger) -> Spec:
    """A whole experiment from elsewhere. It may be sent to another server; what it is stays as it is."""
    name = "--spec" if asked.spec_file is not None else "--like"
    _nothing_beside(name, asked)
    found = read_spec(asked.spec_file) if asked.spec_file is not None else _earlier(book, asked.like or "")
    changed: dict[str, Any] = {"url": asked.url, "model": asked.model, "key_env": asked.key_env, **_trust(asked)}
    there = msgspec.structs.replace(
        found.endpoint, **{key: value for key, value in changed.items() if value is not None}
    )
    both = {**found.known, **known(asked.facts)}
    return msgspec.structs.replace(found, endpoint=there, known=both).repeated(headers(asked.header))


def _nothing_beside(name: str, asked: Asked) -> None:
    """A document says all; an option beside it would be passed over in silence."""
    words = asked.words
    beside = {
        "--spec" if name == "--like" else "--like": asked.spec_file if name == "--like" else asked.like,
        "--workload": asked.workload_path,
        "--replay": asked.replay,
        "--rate": words.rate,
        "--cv": words.cv,
        "--concurrency": words.concurrency,
        "--input": words.input,
        "--output": words.output,
        "--duration": words.duration,
        "--requests": words.requests,
        "--seed": words.seed,
        "--slo": asked.limits,
        "--warmup": asked.warm,
        "--scenario": asked.rules.name,
        **dict.fromkeys(asked.rules.said(), True),
        "--dataset": asked.dataset_path,
        "--processes": asked.processes,
        "--extra-body": asked.body or None,
        "--temperature": asked.temperature,
        "--any-length": asked.any_length or None,
        "--chunk-times": asked.chunk_times or None,
        "--completions": asked.completions or None,
        "--no-stream": asked.whole or None,
        "--tokenizer": asked.tokenizer,
        "--no-salt": asked.unsalted or None,
        "--no-probe": asked.unprobed or None,
    }
    said = [option for option, value in beside.items() if value is not None]
    if said:
        raise UsageError(
            f"found {', '.join(said)} beside {name}, which says it already",
            next=f"leave out {said[0]}, or change it in the document: measured/.../spec.json is one",
        )


def _earlier(book: Ledger, name: str) -> Spec:
    run = book.figure(name).run
    folder = samples_folder(book, run.samples)
    if folder is None or run.provenance.origin != "measured":
        raise UsageError(f"{name} was not measured here: it has no samples", next="give a measured run, or --spec")
    return read_folder(folder)[0]


def _described(asked: Asked, words: Words) -> Spec:
    """The spec that the options describe."""
    if asked.workload_path is not None and words != Words():
        raise UsageError(
            "found --workload beside options of a workload, expected one of them",
            next="leave out --rate, --cv, --concurrency, --input, --output, --duration, --requests and --seed",
        )
    if asked.replay is not None and (asked.workload_path is not None or words != Words()):
        raise UsageError(
            "found --replay beside options of a workload, expected one of them",
            next="--first, --thin, --speed, --scale, --spread and --rate-scale change a replay",
        )
    data = dataset_file(asked.dataset_path)
    size = len(data.read().rows) if data is not None else None
    scenario = scenario_of(asked.rules, asked.limits, words.seed or 0, size)
    _check_whole(asked, scenario is not None)
    _check_times(asked, scenario)
    return Spec(
        endpoint=endpoint_of(asked),
        replay=asked.replay.settled() if asked.replay is not None else None,
        workload=_workload(asked, words, scenario, data, size),
        stop_after_s=stop_after_s(words),
        slo=slo(asked.limits) if scenario is None else None,
        scenario=scenario,
        dataset=data,
        decoding=_decoding(asked, data),
        settings=Settings(chunk_times=asked.chunk_times),
        warmup=warmup(asked.warm),
        processes=asked.processes or 1,
        salted=not asked.unsalted and data is None,
        calibrated=not asked.unprobed and data is None,
        tokenizer_file=None if asked.tokenizer is None else str(asked.tokenizer),
        known=known(asked.facts),
    )


def _decoding(asked: Asked, data: DatasetFile | None) -> Decoding:
    """Answers to a data set's prompts end by themselves: nobody planned how long they are."""
    return decoding(asked.temperature, exact=data is None and not asked.any_length)


def _check_whole(asked: Asked, in_scenario: bool) -> None:
    """A scenario or a data set makes the workload; one that was given whole is not changed behind its back."""
    for option, given in (("--workload", asked.workload_path), ("--replay", asked.replay)):
        for other, there in (("--scenario", in_scenario), ("--dataset", asked.dataset_path is not None)):
            if given is not None and there:
                raise UsageError(f"found {option} beside {other}, expected one of them", next="put both into a --spec")


def _check_times(asked: Asked, scenario: Scenario | None) -> None:
    """Whole answers have no time of a first token: such a run could never be decided."""
    if asked.whole and scenario is not None and not (scenario.ttft_s is None and scenario.tpot_s is None):
        raise UsageError(
            f"found --no-stream beside limits on tokens of {scenario.name}, expected a stream: whole answers have no "
            "times of tokens",
            next="leave out --no-stream, or limit whole requests: --slo e2e=20s",
        )


def _workload(
    asked: Asked, words: Words, scenario: Scenario | None, data: DatasetFile | None, size: int | None
) -> Workload | None:
    if asked.replay is not None:
        return None
    if asked.workload_path is not None:
        return workload_file(asked.workload_path)
    if scenario is not None:
        return scenario_workload(scenario, words, data)
    return workload(words) if size is None else workload_of_set(words, size)


def endpoint_of(asked: Asked) -> Endpoint:
    """The endpoint that the options describe; its model may be UNNAMED."""
    if asked.url is None:
        raise UsageError("measure needs an address, --spec or --like", next="caveat measure http://localhost:8000 ...")
    return Endpoint(
        url=asked.url,
        model=asked.model or UNNAMED,
        key_env=asked.key_env,
        headers=headers(asked.header),
        extra_body=body_fields(asked.body),
        dialect="openai-completions" if asked.completions else "openai-chat",
        stream=not asked.whole,
        **{name: value for name, value in _trust(asked).items() if value is not None},
    )


def _trust(asked: Asked) -> dict[str, Any]:
    """Which certificates are trusted, as far as an option says it; None where none does."""
    ca_file = None if asked.ca_file is None else str(asked.ca_file)
    return {"ca_file": ca_file, "verify": False if asked.unverified else None}
