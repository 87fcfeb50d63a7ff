"""caveat calibrate: from runs of the ledger, published figures, or data sheets; what is said and what is refused."""

import pytest

from caveat.errors import EXIT_CANNOT_SAY, EXIT_INPUT, EXIT_USAGE, EXIT_YES
from caveat.ledger import Ledger
from caveat.loopback import behaviour_of, start_process
from caveat.simulator import read_model

SHEET = "accelerator=H100-SXM,model=llama3.1-8b,tp=1,precision=fp8"
B200 = (
    "round=v6.0",
    "submitter=HPE",
    "platform=HPE_ProLiant_XD685_B200_SXM_192GBx8_TRT",
    "benchmark=llama2-70b-99.9",
    "scenario=server,offline",
)


@pytest.fixture(scope="module")
def server():
    """In a process of its own."""
    with start_process(behaviour_of({"ttft_s": 0.02, "itl_s": 0.002})) as running:
        yield running


@pytest.fixture
def measured(caveat, server):
    """The id of a short run."""
    short = ("--input", "16", "--output", "8", "--no-calibrate", "--no-probe", "--json")
    return caveat("measure", server.url, "--rate", "40", "--duration", "2s", *short).json["runs"][0]["id"]


def test_a_data_sheet_gives_a_model_of_grade_c(caveat, tmp_path):
    """With ranges of what is believed, what is not known, and nothing validated."""
    path = tmp_path / "model.toml"
    done = caveat("calibrate", "--datasheet", SHEET, "-o", path)
    assert done.code == EXIT_YES
    assert done.out.startswith("llama3.1-8b on H100-SXM: grade C, from data sheets alone")
    for said in ("a factor of", "scheduler.max_num_seqs: an answer needs it", "every answer is an extrapolation"):
        assert said in done.out
    model = read_model(path)
    assert (model.grade, model.not_known) == ("C", ("scheduler.max_num_seqs", "prefix_hit"))


def test_what_is_said_stands_in_the_file(caveat, tmp_path):
    """Scheduler and prefix hit; the same seed gives the same draws."""
    files = [tmp_path / name for name in ("one.toml", "two.toml")]
    for path in files:
        said = ("--set", "scheduler.max_num_seqs=128", "--set", "prefix_hit={low=0.1, high=0.3}", "--name", "mine")
        found = caveat("calibrate", "--datasheet", SHEET, *said, "-o", path, "--json").json
    assert files[0].read_bytes() == files[1].read_bytes()
    assert (found["name"], found["grade"], found["not_known"]) == ("mine", "C", [])
    assert found["model"]["scheduler"]["max_num_seqs"] == 128
    assert found["model"]["prefix_hit"] == {"low": 0.1, "high": 0.3}
    assert {one["name"] for one in found["parameters"]} == {
        "memory",
        "prefill",
        "layer_s",
        "sequence_s",
        "overhead_s",
    }


def test_measured_runs_give_a_model_of_grade_a(caveat, measured, tmp_path):
    """Named as what was served, its source the run; without the limit of the batch that stays unknown."""
    path = tmp_path / "model.toml"
    done = caveat("calibrate", measured, "-o", path)
    assert done.code == EXIT_YES
    model = read_model(path)
    assert (model.name, model.grade, model.prefix_hit) == ("loopback", "A", 0.0)
    assert model.provenance.sources == (measured,)
    assert model.not_known == ("scheduler.max_num_seqs",)
    assert model.step_time.step_time().pieces[0].step_s == pytest.approx(0.002, rel=0.5)


def test_a_run_that_cannot_be_learned_from_is_refused_with_the_reason(caveat, server):
    """Whole answers have no first tokens; a run twice would predict itself; samples that are gone are named."""
    short = ("--input", "16", "--output", "8", "--no-calibrate", "--no-probe", "--json")
    argv = ("measure", server.url, "--rate", "40", "--duration", "1s", *short)
    whole = caveat(*argv, "--no-stream").json["runs"][0]["id"]
    done = caveat("calibrate", whole)
    assert (done.code, "have no time of a first token (whole answers" in done.err) == (EXIT_CANNOT_SAY, True), done.err
    run = caveat(*argv).json["runs"][0]["id"]
    done = caveat("calibrate", run, run)
    assert (done.code, "found a run twice" in done.err) == (EXIT_USAGE, True)
    other = caveat(*argv, "--known", "engine=another 1.0").json["runs"][0]["id"]
    named = caveat(*argv, "--known", "engine=one 1.0").json["runs"][0]["id"]
    done = caveat("calibrate", named, other)
    assert (done.code, "several engine: another 1.0, one 1.0" in done.err) == (EXIT_USAGE, True), done.err
    next(Ledger().path.glob("**/samples.parquet")).unlink()
    gone = [caveat("calibrate", one) for one in (whole, run, named, other)]
    assert any(one.code == EXIT_USAGE and "expected its samples in the ledger" in one.err for one in gone)


def test_simulated_samples_make_a_model_that_says_so(caveat, measured, tmp_path):
    """Marked in the first line and in the file; never together with measured ones."""
    path = tmp_path / "model.toml"
    words = ("--rate", "8", "--requests", "60", "--input", "50-200", "--output", "20", "--extrapolate", "--json")
    made = caveat("simulate", "h100-llama3.1-8b", *words)
    run = made.json["runs"][0]["id"]
    done = caveat("calibrate", run, "-o", path, "--set", "prefix_hit=0")
    assert done.code == EXIT_YES, done.err
    assert "SIMULATED: from samples that another model made" in done.out.splitlines()[0]
    assert read_model(path).provenance.origin == "simulated"
    both = caveat("calibrate", run, measured)
    assert (both.code, "found measured and simulated runs" in both.err) == (EXIT_USAGE, True)


def test_a_question_beside_one_published_load_is_told_what_the_range_rests_on(caveat, tmp_path):
    """Within a tenth of it there is an answer; beyond, the refusal names the load and what makes it a range."""
    path = tmp_path / "model.toml"
    where = [part for text in B200 for part in ("--published", text)]
    made = caveat("calibrate", *where, "--input-tokens", "294", "--set", "scheduler.max_num_seqs=1024", "-o", path)
    assert "one published load, and a tenth around it" in made.out
    found = read_model(path).validated
    assert found.rate_per_s.high / found.rate_per_s.low == pytest.approx(1.1 / 0.9)
    lengths = {"input_tokens": 300.0, "output_tokens": found.output_tokens.low * 1.05}
    assert found.outside({**lengths, "rate_per_s": found.rate_per_s.low * 1.01}) == ()
    asked = caveat("simulate", path, "--rate", "1", "--requests", "20", "--input", "294", "--output", "290")
    assert (asked.code, "one published load" in asked.err, "Interactive beside Server" in asked.err) == (3, True, True)


def test_published_runs_of_one_system_give_a_model_of_grade_b(caveat):
    """Their ids are its sources; several systems are refused together."""
    where = [part for text in B200 for part in ("--published", text)]
    found = caveat("calibrate", *where, "--input-tokens", "294", "--json")
    assert found.code == EXIT_YES, found
    assert found.json["grade"] == "B"
    assert found.json["model"]["provenance"]["sources"]
    assert found.json["validated"]["output_tokens"]["low"] > 100
    several = caveat("calibrate", "--published", "round=v6.0", "--published", "benchmark=llama2-70b-99.9",
                     "--input-tokens", "294")  # fmt: skip
    assert (several.code, "expected runs of one system" in several.err) == (EXIT_CANNOT_SAY, True)


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        ((), EXIT_USAGE, "found nothing to calibrate from"),
        (("aaaa", "--datasheet", SHEET), EXIT_USAGE, "found RUN and --datasheet"),
        (("--published", "round=v6.0"), EXIT_USAGE, "needs --input-tokens"),
        (("--published", "round=v9.9", "--input-tokens", "1"), EXIT_INPUT, "no run fits"),
        (("--datasheet", SHEET, "--input-tokens", "1"), EXIT_USAGE, "without --published"),
        (("--datasheet", "accelerator=H100-SXM"), EXIT_USAGE, "expected KEY=VALUE of accelerator, model"),
        (("--datasheet", f"{SHEET},cores=8"), EXIT_USAGE, "expected KEY=VALUE"),
        (("--datasheet", f"{SHEET},replicas=0"), EXIT_USAGE, "replicas: found '0'"),
        (("--datasheet", SHEET.replace("H100-SXM", "H100")), EXIT_CANNOT_SAY, "no specifications are known"),
        (("--datasheet", SHEET, "--set", "fleet.replicas=2"), EXIT_USAGE, "the rest comes from what is given"),
        (("--datasheet", SHEET, "--set", "scheduler.slots=2"), EXIT_USAGE, "expected one of max_num_seqs"),
        (("v6.1/closed/AMD/8xMI355X_2xEPYC_9575F/llama2-70b-99.9/offline/run_1",), EXIT_USAGE, "no measured samples"),
    ],
)
def test_what_cannot_be_meant_is_refused(caveat, argv, code, said):
    """With the next step."""
    done = caveat("calibrate", *argv)
    assert (done.code, said in done.err) == (code, True), done.err
