"""The command line as a person meets it: run in this process, with exit code and both outputs."""

import json
from typing import Any, NamedTuple

import pytest

from caveat.cli.main import main
from caveat.ledger import Ledger
from tests.cli.acme import acme_runs


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        return json.loads(self.out)


@pytest.fixture
def caveat(capsys):
    """caveat("figures", "--json") runs a verb."""

    def run(*argv: str) -> Done:
        code = main([str(part) for part in argv])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


@pytest.fixture
def acme():
    """A small ledger of one made-up submitter, where CAVEAT_LEDGER points. Gives its runs by name."""
    runs = acme_runs()
    Ledger().add(runs.values())
    return runs
