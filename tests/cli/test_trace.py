"""caveat trace: recorded traffic described and drawn, fitted, made into a profile, synthesized."""

import json

import pytest

from caveat.errors import EXIT_INPUT, EXIT_NO, EXIT_USAGE, EXIT_YES
from tests.workload.test_servegen import write


@pytest.fixture
def file(tmp_path):
    """Four hundred requests of two alternating lengths, some at once."""
    path = tmp_path / "small.jsonl"
    rows = [
        {"timestamp": 1000 * (k - k % 3) + k % 7, "input_length": 600 + k % 2 * 900, "output_length": 5 + k % 11}
        for k in range(400)
    ]
    rows.sort(key=lambda row: row["timestamp"])
    lines = (json.dumps({**row, "hash_ids": [k % 5, 100 + k]}) for k, row in enumerate(rows))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_trace_is_described(caveat, file):
    """For people and for programs."""
    done = caveat("trace", "describe", file)
    assert (done.code, done.err) == (EXIT_YES, "")
    assert "400 requests over " in done.out
    said = caveat("trace", "describe", file, "--json").json
    assert (said["format"], said["requests"], said["problems"]) == ("caveat-trace/1", 400, [])


def test_plot_draws_on_the_screen(caveat, file):
    """Source and changes above the panels."""
    done = caveat("trace", "describe", file, "--plot", "--first", "100", "--thin", "2")
    assert (done.code, done.err) == (EXIT_YES, "")
    assert done.out.startswith("small.jsonl: 51 requests over ")
    assert "changes: first 100 s; every 2nd request" in " ".join(done.out.split())
    assert "Index of dispersion of counts" in done.out


@pytest.mark.parametrize(
    ("form", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!doctype"), ("json", b"{")]
)
def test_plot_with_a_file_behind_it_writes_the_file(caveat, file, tmp_path, form, start):
    """Whichever of the two names comes first, where the ending tells them apart."""
    for order in ((file, "--plot", tmp_path / f"a.{form}"), ("--plot", tmp_path / f"b.{form}", file)):
        done = caveat("trace", "describe", *order)
        assert (done.code, done.err) == (EXIT_YES, "")
        assert f".{form}: small.jsonl: 400 requests over " in " ".join(done.out.split())
    for name in ("a", "b"):
        assert (tmp_path / f"{name}.{form}").read_bytes().startswith(start)


def test_json_of_a_plot_is_the_specification_or_the_file(caveat, file, tmp_path):
    """The documented shape; a trace has no figures."""
    said = caveat("trace", "describe", file, "--plot", "--json").json
    assert (said["format"], said["figures"], len(said["spec"]["concat"])) == ("caveat-chart/1", [], 6)
    said = caveat("trace", "describe", file, tmp_path / "x.json", "--plot", "--json").json
    assert sorted(said) == ["figures", "file", "format"]


def test_a_second_file_without_plot_and_other_endings_are_refused(caveat, file):
    """With the way out."""
    done = caveat("trace", "describe", file, "out.svg")
    assert (done.code, "--plot draws into it" in done.err) == (EXIT_USAGE, True)
    assert caveat("trace", "describe", file, "out.pdf", "--plot").code == EXIT_USAGE


def test_findings_stand_above_the_chart_and_in_the_exit_code(caveat, file):
    """A line that cannot be read is said."""
    with file.open("a") as more:
        more.write("{ torn\n")
    done = caveat("trace", "describe", file, "--plot")
    assert (done.code, done.out.startswith("[1 KIND OF FINDINGS]  small.jsonl: ")) == (EXIT_NO, True)


def test_a_profile_is_made_and_synthesized(caveat, file, tmp_path):
    """Small, without text, and another trace comes out of it."""
    profile, replay = tmp_path / "traffic.json", tmp_path / "replay.jsonl"
    assert caveat("trace", "profile", file, "-o", profile, "--privacy").code == EXIT_YES
    assert caveat("trace", "synthesize", profile, "-o", replay, "--requests", "50").code == EXIT_YES
    assert caveat("trace", "describe", replay, "--json").json["requests"] == 50


def test_a_truncated_profile_is_refused_with_the_name_of_the_file(caveat, file, tmp_path):
    """File, what was found, what was expected."""
    profile = tmp_path / "traffic.json"
    caveat("trace", "profile", file, "-o", profile)
    profile.write_bytes(profile.read_bytes()[:-40])
    for name in (profile, tmp_path / "workload.json"):
        name.write_bytes(profile.read_bytes() if name == profile else b'{"format": "caveat-workl')
        done = caveat("trace", "synthesize", name, "-o", tmp_path / "x.jsonl")
        assert (done.code, done.err.startswith(f"caveat: {name.name}: ")) == (EXIT_INPUT, True)


def test_a_profile_holds_no_name_of_its_file(caveat, file, tmp_path):
    """Nor does a trace that is synthesized from it; --name puts one there."""
    profile, replay = tmp_path / "traffic.json", tmp_path / "replay.jsonl"
    for name in ((), ("--name", "bank")):
        caveat("trace", "profile", file, "-o", profile, *name)
        caveat("trace", "synthesize", profile, "-o", replay)
        assert b"small" not in profile.read_bytes() + replay.read_bytes()
        assert (b"bank" in profile.read_bytes()) is bool(name)


def test_a_profile_says_how_far_its_replay_is_off(caveat, file, tmp_path):
    """Unless told not to look."""
    done = caveat("trace", "profile", file, "-o", tmp_path / "x.json", "--json").json
    assert {"name", "kind", "trace", "replay", "met"} == set(done["replay"][0])
    done = caveat("trace", "profile", file, "-o", tmp_path / "x.json", "--no-check")
    assert "was not looked at: --check" in done.out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--first", "nan"), EXIT_USAGE, "--first: found nan"),
        (("--speed", "nan"), EXIT_USAGE, "--speed: found nan"),
        (("--scale", "nan"), EXIT_USAGE, "--scale: found 'nan'"),
        (("--columns", "foo"), EXIT_USAGE, "--columns: found 'foo', expected OURS=THEIRS"),
        (("--columns", "input=a,output=b"), EXIT_INPUT, "next: --columns time=ts,input=prompt_len,output=gen_len"),
        (("--columns", "input=a,output=b", "--format", "nope"), EXIT_USAGE, "beside a map of columns"),
        (("--columns", "time=t,input=i,output=o"), EXIT_INPUT, "next: --time-unit s, ms, us or ns"),
    ],
)
def test_what_cannot_be_is_refused_in_words_of_options(caveat, tmp_path, options, code, said):
    """The option that is wrong, or the one that helps."""
    path = tmp_path / "mine.csv"
    path.write_text("t,i,o,time_s\n1,2,3,4\n")
    known = ("--columns", "time=time_s,input=i,output=o") if "--columns" not in options else ()
    done = caveat("trace", "describe", path, *known, *options)
    assert (done.code, said in " ".join(done.err.split())) == (code, True)


def test_a_folder_of_servegen_is_drawn(caveat, tmp_path):
    """Described and synthesized from its parameters."""
    folder = tmp_path / "clients"
    folder.mkdir()
    write(folder, 1, trace="0,2,1,Gamma,1,1\n600,2,1,Gamma,1,1\n")
    done = caveat("trace", "describe", folder, "--first", "100")
    assert (done.code, "no request was recorded" in " ".join(done.out.split())) == (EXIT_YES, True)
    replay = tmp_path / "replay.jsonl"
    assert caveat("trace", "synthesize", folder, "-o", replay, "--first", "100").code == EXIT_YES
    assert 100 < caveat("trace", "describe", replay, "--json").json["requests"] < 300


def test_lengths_without_times_are_described_as_that(caveat, tmp_path):
    """Exit 1, for something is missing."""
    path = tmp_path / "lengths.csv"
    path.write_text("input_tokens,output_tokens\n10,5\n20,6\n")
    done = caveat("trace", "describe", path)
    assert (done.code, "2 requests without times" in done.out) == (EXIT_NO, True)


def test_a_fit_says_what_was_not_tested(caveat, file):
    """And ends with 1 where something that was tested is missed."""
    done = caveat("trace", "fit", file)
    assert "what was not tested" in done.out
    assert done.code == (EXIT_YES if caveat("trace", "fit", file, "--json").json["misses"] == [] else EXIT_NO)
