"""Fixtures of all rooms: an empty home, no ledger of the person who runs the tests."""

import pytest


@pytest.fixture(autouse=True)
def scrubbed_environment(monkeypatch, tmp_path):
    """No test reads or writes the ledger of whoever runs it."""
    monkeypatch.setenv("CAVEAT_LEDGER", str(tmp_path / "ledger"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
