"""caveat measure --baseline: offline, server and interactive on one endpoint, as the pair of one's own system.

Offline first; then server, asked for a falling share of what offline reached until a run is valid; then interactive
from that rate down. Each try is a run of its own, kept and counted. Offline is not taken to be the faster.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from caveat.cli.asked import Asked, specs
from caveat.cli.carry_out import carry_out
from caveat.cli.console import emit, heading, show, show_lines
from caveat.cli.measured import is_valid
from caveat.compare import Discount, Pair, discount, discount_json
from caveat.errors import EXIT_CANNOT_SAY, EXIT_NO, EXIT_YES, UsageError
from caveat.facts import limits as limits_of
from caveat.figures import SHOWN, Run
from caveat.ledger import Ledger, parse_where
from caveat.loadgen import UNNAMED, ClientCalibration, Spec, served_model
from caveat.publish import chips, plain_table, two_line_table
from caveat.units import format_quantity

FORMAT = "caveat-baseline/1"
SHARES = (1.1, 0.95, 0.8, 0.65, 0.5, 0.35, 0.25)
"""Of the rate that offline reached. The first is above it: a server may pass offline, and some do."""
DEFAULT_GUESS_QPS = 1.0
"""LoadGen's own, of what offline is expected to reach."""
OFFLINE_RATE = "loadgen-offline-samples-rate"
OFFLINE_TRIES = 4
SUITE_SENTENCE = "Your own system, measured by caveat: unverified, not an MLPerf result, and not to be put beside one."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One run of a scenario, and the share of offline's rate that it asked for (offline itself: None)."""

    scenario: str
    run: Run
    share: float | None = None


class Bench:
    """One endpoint that is measured run after run."""

    def __init__(
        self, asked: Asked, book: Ledger, client: ClientCalibration | None, rng: random.Random, *, as_json: bool
    ) -> None:
        self._asked, self._book, self._client, self._rng, self._as_json = asked, book, client, rng, as_json
        self._model: str | None = None
        self.tried: list[Tried] = []
        self.interrupted = False

    def offline(self) -> Run | None:
        """The first valid offline run; the last one where none was, None where it was interrupted.

        An offline run that ends too early was given too few samples: it is asked again for what it reached.
        """
        rate_qps = self._asked.words.rate or DEFAULT_GUESS_QPS
        run = None
        for _ in range(OFFLINE_TRIES):
            run = self._run("offline", rate_qps, None)
            row = run.row(OFFLINE_RATE) if run is not None else None
            if run is None or row is None or is_valid(run) or row.value <= rate_qps:
                break
            rate_qps = row.value
        return run

    def fastest(self, scenario: str, offline_qps: float, shares: Sequence[float]) -> Tried | None:
        """The first valid run from the fastest share down; None where none was valid."""
        for share in shares:
            run = self._run(scenario, share * offline_qps, share)
            if run is None:
                return None
            if is_valid(run):
                return self.tried[-1]
        return None

    def _run(self, scenario: str, rate_qps: float, share: float | None) -> Run | None:
        spec = self._spec(scenario, rate_qps)
        if not self._as_json:
            of = f", {share:.0%} of what offline reached" if share is not None else ""
            print(f"caveat: {scenario} at {rate_qps:.4g} requests/s{of}", file=sys.stderr)
        runs, self.interrupted = carry_out(
            [spec], self._book, self._client, self._rng, cool_down_s=0.0, as_json=self._as_json
        )
        self.tried += [Tried(scenario=scenario, run=run, share=share) for run in runs]
        return None if self.interrupted else self.tried[-1].run

    def _spec(self, scenario: str, rate_qps: float) -> Spec:
        rules = dataclasses.replace(self._asked.rules, name=scenario)
        words = dataclasses.replace(self._asked.words, rate=float(f"{rate_qps:.6g}"))
        limits = None if scenario == "offline" else self._asked.limits
        asked = dataclasses.replace(self._asked, rules=rules, words=words, limits=limits)
        (spec,) = specs(asked, self._book)
        return self._named(spec)

    def _named(self, spec: Spec) -> Spec:
        """With the model that is served, and a name for the system by which its runs are paired."""
        there = spec.endpoint
        if there.model == UNNAMED:
            self._model = self._model or served_model(there)
            there = msgspec.structs.replace(there, model=self._model)
        system = {"system": f"{there.model} at {there.address().host_header}"}
        return msgspec.structs.replace(spec, endpoint=there, known={**system, **spec.known})


def baseline(
    asked: Asked,
    book: Ledger,
    client: ClientCalibration | None,
    rng: random.Random,
    *,
    as_json: bool,
) -> int:
    """Measure, print, and return the exit code.

    0 with at least one pair, 1 interrupted, 3 where no second scenario was valid.
    """
    _check(asked)
    bench = Bench(asked, book, client, rng, as_json=as_json)
    offline = bench.offline()
    found = [] if offline is None else _second_scenarios(bench, asked, offline)
    own = [] if offline is None else [discount([offline, one.run], to_scenario=one.scenario) for one in found]
    published = _published(book, asked)
    if as_json:
        emit(baseline_json(bench, own, published))
    else:
        print_baseline(bench, own, published)
    if bench.interrupted:
        return EXIT_NO
    return EXIT_YES if any(one.pairs for one in own) else EXIT_CANNOT_SAY


def _check(asked: Asked) -> None:
    if asked.rules.name is not None:
        raise UsageError("found --scenario beside --baseline, which measures three", next="leave out --scenario")
    if asked.rules.profile is None and asked.limits is None:
        raise UsageError(
            "--baseline: found no limits, expected a profile or limits of your own for the server scenario",
            next="--profile llama2-70b-99.9@v6.1 --short, or --slo ttft=2s,tpot=200ms",
        )


def _second_scenarios(bench: Bench, asked: Asked, offline: Run) -> list[Tried]:
    row = offline.row(OFFLINE_RATE)
    if row is None:
        return []
    server = bench.fastest("server", row.value, SHARES)
    found = [server] if server is not None else []
    if not bench.interrupted and _has_interactive(asked):
        start = server.share if server is not None and server.share is not None else SHARES[-1]
        interactive = bench.fastest("interactive", row.value, [share for share in SHARES if share <= start])
        found += [interactive] if interactive is not None else []
    return found


def _has_interactive(asked: Asked) -> bool:
    """Only a profile says what interactive means; limits of one's own are those of server."""
    benchmark, _, round_name = (asked.rules.profile or "").partition("@")
    return asked.limits is None and bool(round_name) and limits_of(benchmark, round_name, "interactive") is not None


def _published(book: Ledger, asked: Asked) -> list[Discount]:
    """What published systems have, of the same benchmark where one was named."""
    benchmark = (asked.rules.profile or "").partition("@")[0]
    where = [parse_where(f"benchmark={benchmark}")] if benchmark else []
    shipped = [run for run in book.runs(where) if not run.subject.startswith("measured/")]
    names = ("server", "interactive") if _has_interactive(asked) else ("server",)
    return [discount(shipped, to_scenario=name) for name in names]


def baseline_json(bench: Bench, own: Sequence[Discount], published: Sequence[Discount]) -> dict[str, Any]:
    """Two separate things in one object: one's own pairs, and the distribution of the published ones."""
    return {
        "format": FORMAT,
        "derived": True,
        "review": "unverified",
        "says": SUITE_SENTENCE,
        "interrupted": bench.interrupted,
        "tried": [
            {
                "scenario": one.scenario,
                "run": one.run.id,
                "share_of_offline": one.share,
                "target_qps": one.run.conditions.number("target_qps"),
                "valid": is_valid(one.run),
            }
            for one in bench.tried
        ],
        "own": [discount_json(one) for one in own],
        "published": [
            {"scenarios": {"from": d.from_scenario, "to": d.to_scenario}, "summary": msgspec.to_builtins(d.summary)}
            for d in published
        ],
    }


def print_baseline(bench: Bench, own: Sequence[Discount], published: Sequence[Discount]) -> None:
    """Every try, the pairs with headroom, and apart from them the published distribution."""
    heading("runs")
    table = plain_table(["run", "scenario", "asked/s", "tokens/s", "valid"], right=["asked/s", "tokens/s"])
    for one in bench.tried:
        target = one.run.conditions.number("target_qps")
        primary = one.run.row(one.run.primary or "")
        rate = "-" if primary is None else format_quantity(primary.value, primary.definition.unit)
        asked = "-" if target is None else f"{target:.4g}"
        table.add_row(
            one.run.id[:SHOWN],
            one.scenario,
            asked,
            rate.removesuffix(" tokens/s"),
            "yes" if is_valid(one.run) else "NO",
        )
    show(table)
    heading("your system")
    _print_own(own, interrupted=bench.interrupted)
    heading("published systems, a thing apart")
    show_lines([f"{d.from_scenario} to {d.to_scenario}: {d.summary.words}" for d in published])
    heading("how to read it")
    show_lines([SUITE_SENTENCE, _tries(bench), *(one.basis for one in published[:1])])


def _print_own(own: Sequence[Discount], *, interrupted: bool) -> None:
    pairs = [pair for one in own for pair in one.pairs]
    if not pairs:
        none = "interrupted before there was one" if interrupted else "no run of a second scenario was valid"
        reasons = "; ".join(reason for one in own for reason in one.excluded)
        show_lines([f"no pair: {reasons or none}"])
        return
    heads = ["scenarios", "chips", "offline", "second", "ratio", "headroom"]
    rows = [(_pair_row(pair), f"{pair.conditions.text('system')}{_flags(pair)}") for pair in pairs]
    show(two_line_table(heads, rows, right=["offline", "second", "ratio"]))
    show_lines(["headroom: p99 TTFT / limit, p99 TPOT / limit of the second scenario (at its percentile)"])


def _pair_row(pair: Pair) -> tuple[str, ...]:
    room = pair.headroom
    return (
        f"offline, {pair.right.conditions.text('scenario')}",
        chips(pair.right),
        pair.left.text.removesuffix(" tokens/s"),
        pair.right.text.removesuffix(" tokens/s"),
        f"{pair.ratio:.4f}",
        "-" if room is None else " ".join("-" if h is None else f"{h:.2f}" for h in (room.ttft, room.tpot)),
    )


def _flags(pair: Pair) -> str:
    return f"   [{', '.join(pair.flags)}]" if pair.flags else ""


def _tries(bench: Bench) -> str:
    tries = {name: sum(one.scenario == name for one in bench.tried) for name in ("server", "interactive")}
    said = ", ".join(f"{count} of {name}" for name, count in tries.items() if count)
    broken = "Interrupted: what is missing was not tried. " if bench.interrupted else ""
    return (
        f"{broken}Of a second scenario the first valid run counts, from the fastest down ({said or 'none was made'}): "
        "a rate that was met, not the peak; --find-peak gives an interval."
    )
