"""`python -m caveat`."""

from caveat.cli.main import run

run()
