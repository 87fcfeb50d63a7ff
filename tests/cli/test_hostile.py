"""Names that vendors could write, through every verb and form: shown as text, and nothing else."""

import csv
import io
import json

import pytest

from caveat.errors import EXIT_NO, EXIT_YES
from caveat.ledger import Ledger
from tests.cli.acme import HOSTILE_NAMES, hostile_run

SERVER, OFFLINE = (f"mlperf-inference/v6.1/closed/Evil/{name}/run_1" for name in ("server", "offline"))
WHERE = ("-w", "subject~/Evil/")
COMMANDS = (
    ("figures", *WHERE, "-c", "id,value,benchmark,submitter,engine,accelerator,dataset"),
    ("figures", *WHERE),
    ("show", SERVER),
    ("compare", SERVER, OFFLINE),
    ("discount", *WHERE, "--by", "submitter"),
    ("explain", SERVER),
    ("explain", "counts-are-claims"),
    ("ask", SERVER),
    ("ask", "--value", "50000 tokens/s"),
    ("cite", SERVER),
    ("cite", SERVER, "--format", "markdown"),
    ("cite", SERVER, "--format", "bibtex"),
    ("export", *WHERE, "--format", "csv"),
    ("export", *WHERE, "--format", "markdown"),
)
WITH_JSON = (*COMMANDS[1:10], ("export", *WHERE))


@pytest.fixture(params=HOSTILE_NAMES, ids=range(len(HOSTILE_NAMES)))
def name(request):
    """A ledger in which one submitter has this name everywhere."""
    Ledger().add([hostile_run(request.param, scenario) for scenario in ("server", "offline")])
    return request.param


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.replace("\r\n", "\n").split("\n"))


def test_no_verb_lets_a_name_act_on_the_terminal(caveat, name):
    """Every character that is printed can be seen, on both outputs."""
    for argv in COMMANDS:
        done = caveat(*argv)
        assert done.code in (EXIT_YES, EXIT_NO), argv
        assert harmless(done.out) and harmless(done.err), argv


def test_json_of_every_verb_can_be_looked_at_and_decodes(caveat, name):
    """And what was a name is that name again."""
    for argv in WITH_JSON:
        done = caveat(*argv, "--json")
        assert done.code in (EXIT_YES, EXIT_NO), argv
        assert harmless(done.out), argv
        assert "format" in json.loads(done.out)
    assert caveat("show", SERVER, "--json").json["conditions"]["submitter"] == name


def test_a_table_of_csv_keeps_its_columns(caveat, name):
    """One row a figure, as many cells as heads, none of them a formula."""
    done = caveat("export", *WHERE, "--format", "csv")
    heads, *rows = csv.reader(io.StringIO(done.out, newline=""))
    assert [len(row) for row in rows] == [len(heads)] * 2
    assert not [cell for row in rows for cell in row if cell.lstrip().startswith(("=", "+", "-", "@"))]


def test_a_name_on_the_command_line_comes_back_harmless(caveat, name):
    """In an error as well."""
    for argv in (("show", name), ("figures", "-w", name), (name,), ("figures", f"--{name}"), ("ask", "--value", name)):
        for more in ((), ("--json",)):
            done = caveat(*argv, *more)
            assert done.code != EXIT_YES
            assert harmless(done.out) and harmless(done.err)


def test_lists_stay_short_whatever_is_written(caveat):
    """A novel in a name field does not flood the screen."""
    Ledger().add([hostile_run("N" * 10_000)])
    assert len(caveat("figures", *WHERE).out) < 20_000
    assert max(map(len, caveat("discount", "-w", "submitter=AMD").out.splitlines())) < 320
