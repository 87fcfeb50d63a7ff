"""For every caveat one figure that it means and one, as near as may be, that it does not."""

from caveat.figures import METRICS, Check, Claim, Conditions, Figure, Metric, Provenance, Row, Run, Source, Value
from caveat.units import Unit
from tests.builders import published_run

OFFLINE = "loadgen-offline-tokens-rate"
SERVER = "loadgen-completed-tokens-rate"
CHUNKS = "client-inter-chunk-latency.mean"


def figure(**changes) -> Figure:
    """The published figure of `published_run`."""
    run = published_run(**changes)
    assert run.primary
    return Figure(run, run.primary)


def offline(value: float = 106517.0, **changes) -> Run:
    """A published Offline run."""
    return published_run(value, **{"scenario": "offline", "loop": "burst", "arrivals": "all at once", **changes})


def own(origin="measured", metric: str = SERVER, validity: tuple[Check, ...] = (), **values: Value) -> Figure:
    """A figure of a run of one's own, or of another tool's file."""
    run = Run(
        subject="own/1",
        conditions=Conditions(known=values),
        provenance=Provenance(origin=origin, sources=(Source(kind="tool-result", path="result.json"),)),
        rows=(Row(metric=metric, value=12.0),),
        validity=validity,
    )
    return Figure(run, metric)


def contested(**changes) -> Run:
    """A run whose sources disagree on the number of accelerators."""
    run = published_run(accelerators=88, platform="87xMI355X", **changes)
    claims = (Claim(88, "nodes x accelerators"), Claim(87, "accelerator text"))
    return _with(run, conditions=Conditions(known=run.conditions.known, claims={"accelerators": claims}))


def _with(run: Run, **changes) -> Run:
    fields = {name: getattr(run, name) for name in run.__struct_fields__}
    return Run(**{**fields, **changes})


def primary(run: Run) -> Figure:
    assert run.primary
    return Figure(run, run.primary)


def tokens(run: Run) -> Figure:
    """The mean output length of a run that has it: neither a rate nor a time."""
    return Figure(run, "tokens-per-sample.mean")


def chunk_metric() -> Metric:
    """A metric that times pieces of a stream, as clients report it."""
    return Metric(
        key=CHUNKS,
        name="inter_chunk_latency",
        definition="client-inter-chunk-latency",
        statistic="mean",
        unit=Unit.SECOND,
        meaning="mean gap between pieces of the stream",
        window="from the first piece",
        better="lower",
    )


LENGTH = Row(metric="tokens-per-sample.mean", value=280.0)
TTFT = Row(metric="loadgen-ttft.p99", value=0.64)
HEALTHY = (Check(aspect="client health", outcome="pass"),)
LIMITED = (Check(aspect="client health", outcome="fail"),)
COLD = (Check(aspect="cache state", outcome="pass"),)
INVALID = (Check(aspect="harness verdict", outcome="fail"),)
INFERRED = "loadgen-completed-tokens-rate-inferred"

# id: (figures that it means, figures that it does not)
CASES = {
    "simulated": (
        [lambda: own("simulated", review="simulated"), lambda: figure(review="simulated")],
        [lambda: own(), lambda: figure()],
    ),
    "self-reported": (
        [lambda: own(), lambda: figure(review="self-reported"), lambda: figure(review=None)],
        [lambda: figure(), lambda: own("simulated"), lambda: tokens(published_run(rows=(LENGTH,), review=None))],
    ),
    "client-limited": (
        [lambda: own(), lambda: own(validity=LIMITED), lambda: own("imported", harness="some client")],
        [lambda: own(validity=HEALTHY), lambda: figure(), lambda: own("simulated")],
    ),
    "preview": (
        [lambda: figure(availability="preview"), lambda: figure(availability="rdi")],
        [lambda: figure(), lambda: figure(availability=None)],
    ),
    "open-division": (
        [lambda: figure(division="open")],
        [lambda: figure(), lambda: figure(division=None)],
    ),
    "offline-is-not-serving": (
        [lambda: primary(offline())],
        [lambda: figure(), lambda: tokens(offline(rows=(LENGTH,)))],
    ),
    "server-rate-is-a-floor": (
        [lambda: figure(), lambda: figure(scenario="interactive")],
        [lambda: primary(offline()), lambda: Figure(published_run(rows=(TTFT,)), TTFT.metric)],
    ),
    "no-stable-scenario-discount": (
        [lambda: primary(offline()), lambda: figure()],
        [
            lambda: primary(offline(benchmark="whisper", metric=OFFLINE)),
            lambda: own(scenario="server"),
            lambda: figure(scenario="single-stream"),
        ],
    ),
    "tail-inside-the-rate": (
        [lambda: primary(offline()), lambda: primary(offline(metric="loadgen-offline-samples-rate"))],
        [lambda: figure()],
    ),
    "limits-differ": (
        [lambda: figure(), lambda: figure(ttft_limit_s=None, tpot_limit_s=None)],
        [lambda: primary(offline())],
    ),
    "poisson-at-a-chosen-rate": (
        [lambda: figure(), lambda: own(arrivals="poisson", loop="open")],
        [lambda: primary(offline()), lambda: own(arrivals="constant", loop="open")],
    ),
    "closed-loop-hides-waiting": (
        [lambda: own(loop="closed", concurrency=64), lambda: figure(scenario="single-stream", loop=None)],
        [lambda: figure(), lambda: primary(offline())],
    ),
    "fixed-shape-is-not-your-traffic": (
        [lambda: figure(), lambda: Figure(published_run(rows=(TTFT,)), TTFT.metric)],
        [lambda: own(), lambda: tokens(published_run(rows=(LENGTH,)))],
    ),
    "tokens-of-two-shapes": (
        [lambda: figure(), lambda: own()],
        [lambda: figure(metric="loadgen-completed-samples-rate")],
    ),
    "shape-slack": (
        [lambda: figure(), lambda: primary(offline())],
        [lambda: figure(metric=INFERRED), lambda: figure(metric="loadgen-completed-samples-rate")],
    ),
    "inferred-tokens": (
        [lambda: figure(metric=INFERRED)],
        [lambda: figure()],
    ),
    "chunks-are-not-tokens": (
        [lambda: own(metric=CHUNKS)],
        [lambda: own(), lambda: Figure(published_run(rows=(TTFT,)), TTFT.metric)],
    ),
    "warm-prefix-cache": (
        [lambda: figure(prefix_caching="on"), lambda: figure(prefix_caching=None), lambda: own()],
        [lambda: figure(), lambda: own(validity=COLD)],
    ),
    "accuracy-track": (
        [lambda: figure(), lambda: figure(benchmark="deepseek-r1", accuracy_track="99")],
        [lambda: figure(accuracy_track=None), lambda: figure(division="open"), lambda: own()],
    ),
    "accuracy-unchecked": (
        [
            lambda: own(),
            lambda: own(validity=(Check(aspect="accuracy", outcome="unknown"),)),
            lambda: own(accuracy={"rouge1": 38.4}),
        ],
        [
            lambda: own(validity=(Check(aspect="accuracy", outcome="pass"),)),
            lambda: own(validity=(Check(aspect="accuracy", outcome="fail"),)),
            lambda: own("simulated"),
            lambda: figure(),
            lambda: own(metric="caveat-rouge1.mean"),
        ],
    ),
    "one-run-two-rows": (
        [lambda: figure(round="v6.0"), lambda: figure(round="v6.0", benchmark="llama2-70b-99")],
        [lambda: figure(), lambda: figure(round="v6.0", benchmark="llama3.1-8b"), lambda: figure(benchmark=None)],
    ),
    "one-tuned-configuration": (
        [lambda: figure(), lambda: figure(engine=None)],
        [lambda: own(), lambda: own(suite="MLPerf Inference")],
    ),
    "techniques-undisclosed": (
        [lambda: figure(), lambda: own()],
        [
            lambda: figure(
                continuous_batching="on",
                chunked_prefill="on",
                speculative_decoding="off",
                disaggregation="off",
                multi_model_routing="off",
                kv_cache_quantisation="on",
            )
        ],
    ),
    "counts-are-claims": (
        [lambda: primary(contested())],
        [lambda: figure()],
    ),
    "per-accelerator-is-derived": (
        [lambda: figure(), lambda: figure(accelerators=None), lambda: primary(contested())],
        [lambda: figure(accelerators=1), lambda: Figure(published_run(rows=(TTFT,)), TTFT.metric)],
    ),
    "good-as-a-floor": (
        [lambda: figure(), lambda: figure(scenario="interactive")],
        [
            lambda: primary(offline()),
            lambda: figure(validity=INVALID),
            lambda: figure(review=None),
            lambda: figure(division="open"),
            lambda: figure(metric="loadgen-scheduled-samples-rate"),
        ],
    ),
    "good-for-like-with-like": (
        [lambda: figure(), lambda: primary(offline())],
        [
            lambda: figure(division="open"),
            lambda: figure(validity=INVALID),
            lambda: own(),
            lambda: Figure(published_run(rows=(TTFT,)), TTFT.metric),
        ],
    ),
    "good-for-spotting-a-fault": (
        [lambda: figure(), lambda: primary(offline())],
        [lambda: figure(accelerators=None), lambda: figure(accelerator=None), lambda: own()],
    ),
}

assert CHUNKS not in METRICS
