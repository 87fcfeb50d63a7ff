"""The documentation is what the code says, names everything there is, and its examples run."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from caveat.cli.main import COMMANDS, main
from caveat.compare import RULES
from caveat.figures import METRICS, TABLE
from caveat.ledger import Ledger
from caveat.loadgen import decode_spec
from caveat.loopback import behaviour_of, start_process
from caveat.measure import Slo, WarmUp
from caveat.simulator import model_named
from caveat.workload import decode_workload

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted((*ROOT.glob("*.md"), *DOCS.rglob("*.md")))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def commands_of(page: Path) -> list[str]:
    """Every `caveat ...` line of the page's shell blocks, continued lines joined, without comments."""
    lines = "\n".join(blocks(page.read_text(), "sh")).replace("\\\n", " ").splitlines()
    return [line.split("    #")[0].strip() for line in lines if line.startswith("caveat ")]


@pytest.mark.parametrize("script", ["make_reference.py", "make_schema.py"])
def test_generated_pages_are_what_the_code_says(script):
    """`make docs` would change nothing."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_verb_rule_metric_and_condition_has_its_place_in_the_docs():
    """Nothing is undocumented."""
    texts = {name: (DOCS / f"{name}.md").read_text() for name in ("command-line", "conditions", "metrics", "json")}
    assert [verb.name for verb in COMMANDS if f"## caveat {verb.name}\n" not in texts["command-line"]] == []
    assert [row.key for row in TABLE if f"`{row.key}`" not in texts["conditions"]] == []
    assert [key for key in METRICS if f"`{key}`" not in texts["metrics"]] == []
    assert [rule.id for rule in RULES if not (DOCS / "rules" / f"{rule.id}.md").exists()] == []
    assert [verb.name for verb in COMMANDS if f"`{verb.name}" not in texts["json"] and verb.name != "demo"] == []


@pytest.mark.parametrize("verb", COMMANDS, ids=lambda verb: verb.name)
def test_every_verb_shows_examples(verb, capsys):
    """Help ends with commands that one can copy."""
    assert main([verb.name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Examples:" in shown
    assert f"caveat {verb.name}" in shown.split("Examples:")[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page):
    """Links between pages are kept."""
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", [ROOT / "README.md"], ids=lambda page: page.name)
def test_every_command_of_the_readme_runs(page, tmp_path, monkeypatch, capsys):
    """Word for word, with the exit code that the text promises."""
    monkeypatch.chdir(tmp_path)
    commands = commands_of(page)
    assert len(commands) >= 8
    for command in commands:
        expected = 1 if command.startswith("caveat compare") else 0
        assert main(shlex.split(command)[1:]) == expected, command
        assert capsys.readouterr().out or "--output" in command


# The tutorial's runs, shortened: what stands on the page, what the test runs instead.
SHORTER = (
    ("--duration 20s", "--duration 2s"),
    ("--requests 64", "--requests 32"),
    ("--sweep", "--cool-down 0s --sweep"),
    ("duration_s = 20.0", "duration_s = 2.0"),
    ("first_s = 2.0", "first_s = 0.2"),
)
# On a busy machine a run is client-limited, two runs differ, and a point of a sweep has no median that can be stated:
# exit 1 and 3 are honest answers.
ENDINGS = {"measure": (0, 1), "record": (0, 1), "compare": (0, 1, 3), "show": (0, 3)}


def test_the_spec_of_the_tutorial_is_one():
    """The whole file, with every field known and a plan that can be made."""
    (text,) = blocks((DOCS / "measuring.md").read_text(), "toml")
    spec = decode_spec(text.encode(), "toml")
    assert spec.workload.plan().describe()["arrivals"] == "gamma(cv=2)"
    assert spec.slo == Slo(ttft_s=0.5, tpot_s=0.05, percentile="p95")
    assert (spec.warmup, spec.known["accelerators"]) == (WarmUp(first_s=2.0), 8)


def test_every_example_of_the_page_of_workloads_is_a_plan(tmp_path, monkeypatch, capsys):
    """Each block in place of the tables that it names; the command of the page runs; and every kind has its block."""
    page = (DOCS / "workloads.md").read_text()
    whole, *parts = blocks(page, "toml")
    base = tomllib.loads(whole)
    kinds = set()
    for part in parts:
        given = tomllib.loads(part)
        kinds |= set(re.findall(r'kind = "(\w+)"', part))
        workload = decode_workload(json.dumps({**base, **given}), "json")
        assert next(workload.plan().blocks()).input_tokens.min() >= 1, part
    assert set(re.findall(r'^### kind = "(\w+)"', page, re.MULTILINE)) <= kinds
    monkeypatch.chdir(tmp_path)
    Path("chat.toml").write_text(whole)
    for command in commands_of(DOCS / "workloads.md"):
        assert main(shlex.split(command)[1:]) == 0, command
        assert "nothing was sent" in capsys.readouterr().out


def test_the_behaviour_of_the_page_of_loopback_is_one():
    """The file that it shows."""
    (text,) = blocks((DOCS / "loopback.md").read_text(), "toml")
    assert behaviour_of(tomllib.loads(text)).faults[0].kind == "stall"


def test_every_command_of_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    """In order, on an endpoint of our own, each RUN being the newest run and FOLDER the place of the first."""
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "measuring.md").read_text()
    newest: list[str] = []
    with start_process(behaviour_of({"ttft_s": 0.02, "itl_s": 0.001})) as server:
        words = (*SHORTER, ("http://127.0.0.1:8000", server.url))
        (tmp_path / "run.toml").write_text(_replaced(blocks(page, "toml")[0], words))
        for command in commands_of(DOCS / "measuring.md")[1:]:
            folders = sorted((Ledger().path / "measured").glob("*"), key=lambda folder: folder.stat().st_mtime)
            names = {"FOLDER": str(folders[0]) if folders else "", **_names(newest)}
            line = [names.get(word, word) for word in shlex.split(_replaced(command, words))]
            code, out = main(line[1:]), capsys.readouterr().out
            assert code in ENDINGS.get(line[1], (0,)), (line, code, out)
            newest = [*re.findall(r"^([0-9a-f]{10})\b", out, re.MULTILINE), *newest] if line[1] == "measure" else newest
    assert (tmp_path / "run.svg").stat().st_size > 10_000


# What is shortened on the page of scenarios: a run of 20 s would be too long for a test.
SCENARIOS_SHORTER = (("--min-duration 20s", "--min-duration 500ms"), ("--short", "--short --min-duration 500ms"))


def test_every_command_of_the_page_of_scenarios_runs(tmp_path, monkeypatch, capsys):
    """On an endpoint of our own, with a data set of a few prompts; valid or not, each run says that it is no result."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.jsonl").write_text("".join(f'{{"prompt": "question {n}"}}\n' for n in range(20)))
    page = DOCS / "scenarios.md"
    with start_process(behaviour_of({"ttft_s": 0.01, "itl_s": 0.0002})) as server:
        words = (*SCENARIOS_SHORTER, ("http://127.0.0.1:8000", server.url))
        for command in commands_of(page)[1:]:
            line = shlex.split(_replaced(command, words))
            code, out = main([*line[1:], "--no-calibrate"]), capsys.readouterr().out
            assert code in ENDINGS["measure"], (line, code, out)
            assert "nothing was sent" in out or "not an MLPerf result" in " ".join(out.split())


# On the page of simulating runs are shortened as well; a short one may validate nothing, and exit 3 is honest then.
SIMULATING_SHORTER = (("--duration 30s", "--duration 3s"), ("simulate engine.toml", "simulate engine.toml --draws 4"))
SIMULATING_ENDINGS = {**ENDINGS, "simulate": (0, 1, 3)}


@pytest.mark.full
def test_every_command_of_the_page_of_simulating_runs(tmp_path, monkeypatch, capsys):
    """In order, on an endpoint that a model drives; each RUN is the newest run, measured or simulated."""
    monkeypatch.chdir(tmp_path)
    newest: list[str] = []
    with start_process(model=model_named("h100-llama3.1-8b")) as server:
        words = (*SIMULATING_SHORTER, ("http://127.0.0.1:8000", f"{server.url}"))
        for command in commands_of(DOCS / "simulating.md")[1:]:
            names = _names(newest)
            line = [names.get(word, word) for word in shlex.split(_replaced(command, words))]
            quick = ("--no-calibrate", "--no-probe") if line[1] == "measure" else ()
            code, out = main([*line[1:], *quick]), capsys.readouterr().out
            assert code in SIMULATING_ENDINGS.get(line[1], (0,)), (line, code, out)
            newest = [*re.findall(r"^([0-9a-f]{10})\b", out, re.MULTILINE)[:1], *newest]
    assert {file.name for file in tmp_path.glob("*.toml")} == {"engine.toml", "sheet.toml", "b200.toml"}


def _replaced(text, words):
    for old, new in words:
        text = text.replace(old, new)
    return text


def _names(newest):
    return dict(zip(("RUN", "RUN2", "RUN3"), newest, strict=False))


def test_the_python_of_the_readme_runs(capsys):
    """The comment behind print() is what it prints."""
    (code,) = blocks((ROOT / "README.md").read_text(), "python")
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == code.rsplit("# ", 1)[1].strip()


def test_the_table_in_the_readme_is_what_the_command_prints(capsys):
    """The first thing that a reader sees is true."""
    (text, *_) = blocks((ROOT / "README.md").read_text(), "text")
    command, _, shown = text.partition("\n")
    assert main(shlex.split(command.removeprefix("$ "))[1:]) == 0
    assert capsys.readouterr().out.startswith(shown)
