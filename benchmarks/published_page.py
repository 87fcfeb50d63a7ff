"""The part of docs/validation.md about published data, from the kept result alone."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.published_open_loop import ASSUMPTIONS
from benchmarks.results import Result
from caveat.facts import SUITE_NAME, UNVERIFIED_SENTENCE


def published(result: Result) -> Iterator[str]:
    """Markdown, paragraph by paragraph."""
    yield "## Models from published figures and data sheets\n"
    yield (
        "`python -m benchmarks.bench_validation_published`. Nothing was run for this part: models were made from some "
        "published figures and asked for others. Intervals are 80 % ranges over posterior draws; *inside* is the share "
        "of held-out values that fell into theirs, *error* the median of |predicted / seen - 1|. "
        f"{result.machine.at}, caveat {result.machine.version}.\n"
    )
    yield (
        f"Server, Interactive and Offline runs below are published results of {SUITE_NAME}, used as evidence; what is "
        f"told of them here is derived and is no result of that suite. {UNVERIFIED_SENTENCE}\n"
    )
    yield from _open_loop(result.tables["open loop"])
    yield from _points(result.tables["points"])
    yield from _offline(result.tables["offline"])


def _open_loop(part: dict[str, Any]) -> Iterator[str]:
    yield "### Open-loop stages of vLLM on H100 (grade B)\n"
    yield (
        f"{part['stages']} stages at constant rates, four models. Each experiment whose low rate failed no request is "
        "calibrated on that stage alone (mean TPOT, p50 TTFT) and asked for its high rate, then for all other stages "
        "of the same model, which have other lengths and rates. The load profile repeats some thirty prompts with "
        "prefix caching on, and how many prompt tokens were computed is in no file. That is the largest unknown here, "
        "so that three assumptions stand side by side; 16 tokens (one block) is a guess made before these runs but "
        "after an earlier look at the same data.\n"
    )
    rows = []
    for name in ASSUMPTIONS:
        for question in ("high rate", "other lengths and rates"):
            asked = part["assumptions"][name][question]
            rows.append((name, question, *_open_loop_cells(asked)))
    heads = (
        "prefix cache", "asked for", "TPOT error of the mode", "worst", "TPOT inside",
        "TTFT told", "p50 TTFT error, inside", "p95 TTFT error, inside", "overload said",
    )  # fmt: skip
    yield table(heads, rows)
    yield (
        "TTFT is told where the upper end of the load fraction is at most 0.9; *overload said* counts the stages that "
        "failed requests and for which the model refused to tell TTFT. Arrivals were evenly spaced: nothing here says "
        "how bursts wait. The same few systems are asked in many ways, so that shares rest on less than their counts "
        "suggest.\n"
    )
    yield "The high rates one by one, with all but 16 tokens cached:\n"
    high = part["assumptions"][ASSUMPTIONS[1]]["high rate"]["rows"]
    yield table(
        ("experiment", "rate /s", "load fraction", "TPOT seen, ms", "predicted", "p95 TTFT seen, ms", "predicted"),
        [_stage_cells(row) for row in high],
    )


def _open_loop_cells(asked: dict[str, Any]) -> tuple[str, ...]:
    figures = asked["figures"]
    fine = asked["predictable"] + asked["not predictable"]
    firsts = [
        f"{_percent(one['median_error'])}, {_inside(one)}" if (one := figures.get(name)) else "none"
        for name in ("ttft p50", "ttft p95")
    ]
    overload = f"{asked['overloaded and said so']} of {asked['overloaded']}" if asked["overloaded"] else "none asked"
    return (
        _percent(asked["error of the mode"]["median"]),
        _percent(asked["error of the mode"]["worst"]),
        _inside(figures["tpot"]),
        f"{asked['predictable']} of {fine}",
        *firsts,
        overload,
    )


def _stage_cells(row: dict[str, Any]) -> tuple[str, ...]:
    first = _range_ms(row["ttft p95"]["predicted"]) if row["predictable"] else "not predictable"
    load = row["load"]
    return (
        row["experiment"],
        f"{row['rate_per_s']:g}",
        f"{load['median']:.2f} ({load['low']:.2f} to {load['high']:.2f})",
        f"{row['tpot']['seen'] * 1e3:.1f}",
        _range_ms(row["tpot"]["predicted"]),
        f"{row['ttft p95']['seen'] * 1e3:.0f}",
        first,
    )


def _points(part: dict[str, Any]) -> Iterator[str]:
    little, held = part["little"], part["held out"]
    yield "### Server and Interactive results (grades B and C)\n"
    yield (
        f"{part['runs']} distinct closed-division runs of Llama 2 70B whose logs disclose latencies, of those that "
        "come with the package. Requests in decode by two ways of Little's law: ratio "
        f"{little['p50']:.4f} in the median, {little['p5']:.4f} to {little['p95']:.4f} from 5 % to 95 %. How a system "
        "spreads the model is in no log: the narrowest spread that fits is assumed, and a KV cache in FP8 beside "
        f"weights of 8 bits or fewer. Left out: {_counted(part['left out'])}.\n"
    )
    sheet, wide = part["data sheets"]["figures"]["tpot"], part["data sheets, bf16 KV"]["tpot"]
    yield (
        f"**From data sheets alone (C)**, mean TPOT at the concurrency that was reached: error "
        f"{_percent(sheet['median_error'])}, {_inside(sheet)} inside. With a KV cache in bf16 instead, "
        f"{_percent(wide['median_error'])} and {_inside(wide)}; FP8 was chosen because runs hold more requests than "
        "bf16 has room for, and after seeing both. The prior was set on other data (closed-loop figures of other "
        "dense models), yet accelerators of one vendor stand in both.\n"
    )
    yield table(
        ("accelerator", "weights as stated", "runs", "seen / predicted, median", "inside"),
        [
            (r["accelerator"], r["precision"], str(r["runs"]), f"{r['seen / predicted']:.2f}", str(r["inside"]))
            for r in part["data sheets"]["by accelerator"]
        ],
    )
    yield (
        f"**From one system's Server and Interactive results (B)**: {held['intercept check'].get('pass', 0)} pairs "
        "pass the intercept check (no token came faster than the step of an empty batch), "
        f"{sum(v for k, v in held['intercept check'].items() if k != 'pass')} do not. Each pair predicts the "
        "runs of all other systems with its accelerator and weight precision, unless a token of theirs was faster than "
        f"the pair's intercept ({held['not pooled']} refused). TTFT and p99 are the mean TPOT times the pair's own "
        "ratio in that scenario: a transfer of ratios, not a model of waiting.\n"
    )
    yield table(
        ("figure", "values", "systems", "error", "inside", "interval moved out by"),
        [_coverage_cells(name, one) for name, one in held["figures"].items()],
    )
    yield table(
        ("mean TPOT of", "values", "systems", "error", "inside", "interval moved out by"),
        [_coverage_cells(name, one) for name, one in held["tpot by distance"].items()],
    )
    yield (
        "Systems of one accelerator often run one vendor's container, which makes them alike and these errors small; "
        "they say little of an engine of another kind. *At the rate* the model also finds the concurrency, so that an "
        "error of the step grows with load. Token intervals hold far more than they should: at the published lengths "
        "the residual of 12 % is too wide, and it is kept for other lengths, where nothing was tried here.\n"
    )


def _offline(part: dict[str, Any]) -> Iterator[str]:
    yield "### From Offline to Server (grade B)\n"
    yield (
        f"{part['pairs']} pairs of one system's Offline and Server rates ({part['left out']} more lack a layout, a "
        "limit or lengths). Calibrated on the Offline rate alone, the model is asked for the rate at which p99 TPOT "
        "meets the limit; p99 / mean comes from other systems. Prompt lengths are known for Llama 2 70B, elsewhere "
        "half the longest. *Seen / predicted* is below 1 where submitters stayed below the limit, or something else "
        "bound them. *Recentred* moves the model by what other systems of the benchmark showed, one system left out; "
        "`compare.estimate` uses no model, only the ratios of like systems.\n"
    )
    heads = (
        "benchmark", "pairs", "model: inside", "error", "high / low", "seen / predicted",
        "recentred: inside", "error", "high / low", "compare.estimate: inside", "high / low",
    )  # fmt: skip
    yield table(heads, [_offline_cells(one) for one in part["by benchmark"]])
    whole = part["all"]
    yield (
        f"Over all pairs {_inside(whole)} inside, error {_percent(whole['median_error'])}. Where time per token binds, "
        "the raw model is a usable upper bound. Where it does not (long prompts, first-token limits, wide expert "
        "parallelism), it promises too much, because it has no queue for prompts: there ask the analysis of pairs. "
        "Recentred intervals are about as narrow as those of the pairs, and hold a little less.\n"
    )


def _offline_cells(one: dict[str, Any]) -> tuple[str, ...]:
    low, middle, high = one["seen / predicted"]
    again, pairs = one["recentred"], one["estimate"]
    return (
        one["benchmark"],
        str(one["figure"]["tested"]),
        _inside(one["figure"]),
        _percent(one["figure"]["median_error"]),
        f"{one['high / low']:.2f}",
        f"{middle:.2f} ({low:.2f} to {high:.2f})",
        *(
            (f"{again['coverage']:.0%}", _percent(again["median error"]), f"{again['high / low']:.2f}")
            if again
            else ("", "", "")
        ),
        *((f"{pairs['coverage']:.0%}", f"{pairs['high / low']:.2f}") if pairs else ("", "")),
    )


def _coverage_cells(name: str, one: dict[str, Any]) -> Sequence[str]:
    moved = f"{one['widened_by']:.2f}" if one["widened_by"] > 1 else "not"
    return (name, str(one["tested"]), str(one["systems"]), _percent(one["median_error"]), _inside(one), moved)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _inside(one: dict[str, Any]) -> str:
    return f"{one['coverage']:.0%}"


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _range_ms(one: dict[str, Any]) -> str:
    return f"{one['median'] * 1e3:.1f} ({one['low'] * 1e3:.1f} to {one['high'] * 1e3:.1f})"


def _counted(why: dict[str, int]) -> str:
    return "; ".join(f"{count} {reason}" for reason, count in sorted(why.items(), key=lambda item: -item[1])) or "none"
