"""The questions to put to whoever gave the number: what is undisclosed and matters, and what the partner run says."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from caveat.figures import Conditions, Figure
from caveat.publish.claim import parse_claim

FORMAT = "caveat-questions/1"
PUBLISHED_SCENARIOS = ("offline", "server", "interactive")  # those that a system is usually filed under together
NEAR = 0.005  # relative: a quoted value this close to a published one is probably that one


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question, why it matters, and what is known of the answer (None where it must be asked)."""

    topic: str
    question: str
    why: str
    answer: str | None = None


# topic, conditions that answer it together, question, why. In the order in which a meeting should ask them.
TABLE: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    (
        "scenario",
        ("scenario", "loop", "arrivals"),
        "Under which scenario and arrivals: everything at once, Poisson at a chosen rate, or a fixed number in flight?",
        "a burst rate is no serving promise",
    ),
    (
        "benchmark",
        ("benchmark", "dataset"),
        "Which benchmark and which data set?",
        "tokens of two data sets are not one unit",
    ),
    (
        "shape",
        ("input_tokens", "output_tokens"),
        "What were the input and output lengths, as distributions, in this very run?",
        "a rate in tokens moves with the lengths",
    ),
    (
        "latency",
        ("ttft_limit_s", "tpot_limit_s", "headroom_ttft", "headroom_tpot"),
        "What were p99 TTFT and p99 TPOT, and against which limits?",
        "far below its limits the rate is only a floor",
    ),
    (
        "rate asked for",
        ("target_qps", "queries"),
        "At which request rate, over how many requests?",
        "a rate asked for is not a limit found",
    ),
    (
        "count",
        ("accelerators", "nodes"),
        "How many accelerators in how many nodes?",
        "per-accelerator values need one count",
    ),
    (
        "precision",
        ("weight_precision", "activation_precision", "kv_cache_precision"),
        "Which data types for weights, activations and KV cache?",
        "precision buys speed and may cost accuracy",
    ),
    (
        "accuracy",
        ("accuracy", "accuracy_track"),
        "Which accuracy was reached, against which target?",
        "speed without accuracy is free",
    ),
    (
        "software",
        ("engine", "software"),
        "Which engine and versions, and can we have the configuration?",
        "a rate belongs to one tuned stack",
    ),
    (
        "techniques",
        ("prefix_caching", "speculative_decoding", "disaggregation", "chunked_prefill", "kv_cache_quantisation"),
        "Which of prefix caching, speculative decoding, disaggregation, chunked prefill and KV quantisation were on?",
        "each changes what a token of the rate costs",
    ),
    (
        "cache",
        ("prefix_reuse",),
        "How much of the input was shared between requests, and was the cache warm?",
        "warm prefixes are not computed",
    ),
    (
        "review",
        ("review", "division", "availability"),
        "Who reviewed it, in which division, and can the system be bought?",
        "nobody answers for an unreviewed number",
    ),
    ("date", ("round", "run_date"), "When was it run, and in which round?", "software moves faster than hardware"),
)

REPLAY = Question(
    topic="your traffic",
    question="Will you replay a profile of our traffic (lengths, arrivals, sharing; no text) and send every sample?",
    why="a benchmark answers for its own shape, not for your Tuesday",
)


class Questions(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask, what is already answered, and figures of the ledger that belong beside it."""

    about: str
    ask: tuple[Question, ...]
    answered: tuple[Question, ...] = ()
    partners: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    format: str = FORMAT


def ask_figure(figure: Figure, others: Sequence[Figure]) -> Questions:
    """Questions about a figure of the ledger; `others` are the heads among which its partners are looked for."""
    questions = [_question(figure.conditions, row) for row in TABLE]
    partners = partners_of(figure, others)
    if not partners and figure.conditions.words("scenario") in PUBLISHED_SCENARIOS:
        questions.insert(1, _partner_question(figure))
    return Questions(
        about=str(figure),
        ask=(*(q for q in questions if q.answer is None), REPLAY),
        answered=tuple(q for q in questions if q.answer is not None),
        partners=tuple(str(partner) for partner in partners),
    )


def ask_claim(value: str, others: Sequence[Figure], *, system: str = "", model: str = "") -> Questions:
    """Questions about a bare claim, and the published figures that it may have been taken from."""
    number, unit = parse_claim(value)
    candidates = [f for f in others if _may_be(f, number, unit, system, model)]
    nothing = Conditions()
    return Questions(
        about=" ".join(part for part in (value, system, model) if part),
        ask=(*(_question(nothing, row) for row in TABLE), REPLAY),
        candidates=tuple(str(f) for f in sorted(candidates, key=lambda f: abs(f.row.value - number))),
    )


def partners_of(figure: Figure, others: Sequence[Figure]) -> tuple[Figure, ...]:
    """The same system and benchmark under its other scenarios."""
    mine = figure.run.subject.rsplit("/", 2)[0]
    return tuple(
        f
        for f in others
        if f.run.subject.rsplit("/", 2)[0] == mine and f.run.subject != figure.run.subject and f.is_primary
    )


def _may_be(figure: Figure, number: float, unit: str, system: str, model: str) -> bool:
    c = figure.conditions
    names = " ".join(c.words(key) or "" for key in ("system", "platform", "accelerator", "accelerator_stated"))
    models = " ".join(c.words(key) or "" for key in ("benchmark", "model", "model_submitted"))
    return (
        abs(figure.row.value - number) <= NEAR * abs(number)
        and (not unit or unit == figure.metric.unit)
        and system.casefold() in names.casefold()
        and model.casefold() in models.casefold()
    )


def _question(conditions: Conditions, row: tuple[str, tuple[str, ...], str, str]) -> Question:
    topic, keys, question, why = row
    applicable = [key for key in keys if conditions.state(key) != "not applicable"]
    known = [key for key in applicable if conditions.state(key) == "known"]
    answer = "; ".join(f"{key} {conditions.text(key)}" for key in known)
    if applicable and len(known) == len(applicable):
        return Question(topic=topic, question=question, why=why, answer=answer)
    if not applicable:
        return Question(topic=topic, question=question, why=why, answer="not applicable")
    unknown = ", ".join(key for key in applicable if key not in known)
    return Question(
        topic=topic, question=question, why=f"{why}. Undisclosed: {unknown}" + (f". Known: {answer}" if answer else "")
    )


def _partner_question(figure: Figure) -> Question:
    scenario = figure.conditions.words("scenario")
    other = "Server" if scenario == "offline" else "Offline"
    return Question(
        topic="partner",
        question=f"What does the same system reach under {other}, in the same round?",
        why="one scenario alone does not show how far waiting and batching carry the number",
    )
