"""The documentation is what the code says, names everything there is, and its examples run."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from caveat.cli.main import COMMANDS, main
from caveat.compare import RULES
from caveat.figures import METRICS, TABLE

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
