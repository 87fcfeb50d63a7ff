"""A spec goes through TOML and JSON unchanged, keeps no secret and refuses what it would not hear."""

import msgspec
import pytest

from caveat.errors import DocumentError, InputError, UsageError
from caveat.loadgen import Endpoint, Spec, decode_spec, encode_spec, read_spec
from caveat.workload import Concurrency, Fixed, Limits, Separate, Workload, plan_digest
from tests.loadgen.folders import poisson_spec

WHOLE = """
processes = 2
salted = false
calibrated = false
[endpoint]
url = "http://localhost:8000/v1"
model = "m"
dialect = "openai-completions"
key_env = "KEY"
headers = {"X-Team" = "blue"}
extra_body = {top_k = 5}
[workload]
seed = 7
arrivals = {kind = "gamma", rate_qps = 4.0, cv = 2.0}
lengths = {kind = "separate", input = {kind = "fixed", value = 32}, output = {kind = "uniform", low = 4, high = 9}}
limits = {duration_s = 20.0}
[decoding]
temperature = 0.7
[slo]
ttft_s = 2.0
percentile = "p95"
[warmup]
first_s = 3.0
[known]
accelerator = "H100"
accelerators = 8
"""


def closed(**changes) -> Spec:
    workload = Workload(
        arrivals=Concurrency(requests=2),
        lengths=Separate(input=Fixed(value=4), output=Fixed(value=4)),
        limits=Limits(requests=10),
    )
    return Spec(endpoint=Endpoint(url="http://h", model="m"), workload=workload, **changes)


def test_a_spec_goes_from_toml_to_json_and_back_with_the_same_plan():
    """Every field, and every planned request to the nanosecond; header values alone are given anew."""
    first = decode_spec(WHOLE.encode(), "toml")
    document = encode_spec(first)
    again = decode_spec(document, "json").repeated({"x-team": "blue"})
    assert again == first
    assert plan_digest(again.workload.plan()) == plan_digest(first.workload.plan())
    assert encode_spec(again) == document


def test_no_value_of_a_header_is_in_the_document():
    """Names are; the key is not even known."""
    document = encode_spec(decode_spec(WHOLE.encode(), "toml"))
    assert b"blue" not in document
    assert msgspec.json.decode(document)["endpoint"]["headers"] == {"X-Team": "[hidden]"}


def test_a_repeated_spec_asks_for_the_values_that_were_not_kept():
    """By name; a hidden value is never sent as if it were one."""
    kept = decode_spec(encode_spec(decode_spec(WHOLE.encode(), "toml")), "json")
    with pytest.raises(UsageError, match="X-Team") as caught:
        kept.repeated({"X-Other": "1"})
    assert "--header" in caught.value.next
    assert kept.repeated({"X-TEAM": "red", "X-Other": "1"}).endpoint.headers == {"X-Team": "red", "X-Other": "1"}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("rate_qps = 4.0", 'rate_qps = "fast"', "workload.arrivals.rate_qps"),
        ("processes = 2", "processes = 2\nprocess = 3", "process"),
        ("ttft_s = 2.0", "ttft = 2.0", "slo: found the field 'ttft'"),
        ("first_s = 3.0", "first_s = 3.0\nlast_s = 1.0", "warmup: found the field 'last_s'"),
        ("first_s = 3.0", "first_s = -3.0", "warm-up"),
        ("processes = 2", "processes = -1", "processes: found -1"),
        ("ttft_s = 2.0", "ttft_s = nan", "ttft_s: found nan"),
        ("first_s = 3.0", "first_s = nan", "warm-up: found nan"),
        ('accelerator = "H100"', 'acelerator = "H100"', "acelerator"),
        ('accelerator = "H100"', 'suite = "MLPerf Inference"', "known.suite"),
        ('accelerator = "H100"', 'review = "reviewed"', "known.review"),
        ('accelerator = "H100"', "concurrency = 4", "known.concurrency"),
        ('"http://localhost:8000/v1"', '"localhost:8000"', "endpoint.url"),
        ("seed = 7", "seed = 7\n[", "not TOML"),
    ],
)
def test_what_is_wrong_with_a_document_is_said_with_its_field(old, new, said):
    """The file, the field, what was found; an unknown option is never passed over."""
    assert old in WHOLE
    with pytest.raises(InputError) as caught:
        decode_spec(WHOLE.replace(old, new).encode(), "toml", name="run.toml")
    assert caught.value.message.startswith("run.toml: ")
    assert said in caught.value.message
    assert caught.value.next


def test_a_spec_that_is_not_there_is_an_input_error(tmp_path):
    """Not a traceback."""
    with pytest.raises(InputError, match="No such file"):
        read_spec(tmp_path / "run.toml")
    (tmp_path / "run.json").write_bytes(encode_spec(poisson_spec()))
    assert read_spec(tmp_path / "run.json") == poisson_spec()


def test_only_a_closed_loop_is_ended_by_the_clock():
    """Open arrivals have their duration in the plan."""
    assert closed(stop_after_s=5.0).stop_after_s == 5.0
    with pytest.raises(UsageError, match="closed loop"):
        poisson_spec(stop_after_s=5.0)
    with pytest.raises(UsageError, match="more than 0"):
        closed(stop_after_s=0.0)


def test_what_a_person_says_must_be_conditions():
    """Of the table, of the right kind."""
    assert poisson_spec(known={"accelerators": 8}).conditions().get("accelerators") == 8
    with pytest.raises(DocumentError, match="colour"):
        poisson_spec(known={"colour": "red"})
    with pytest.raises(DocumentError, match="accelerators"):
        poisson_spec(known={"accelerators": "eight"})
