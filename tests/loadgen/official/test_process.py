"""The package that may be missing."""

import sys

import pytest

from caveat.errors import UsageError
from caveat.loadgen.official import require_loadgen


def test_without_the_package_it_says_how_to_get_it(monkeypatch):
    """The extra by its name."""
    monkeypatch.setitem(sys.modules, "mlperf_loadgen", None)
    with pytest.raises(UsageError) as raised:
        require_loadgen()
    assert (raised.value.code, raised.value.next) == ("loadgen-missing", "pip install 'caveat[mlperf]'")
