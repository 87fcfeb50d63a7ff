# Two commands set everything up on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CODE   := src tests benchmarks scripts

.PHONY: demo test test-full lint format bench docs shipped clean

$(VENV)/installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint]'
	@touch $@

demo: $(VENV)/installed          ## install, fill a ledger, show what caveat is for
	@$(BIN)/caveat demo

test: lint                       ## everything that must hold, in a few minutes
	$(BIN)/python -m pytest -m 'not full'

test-full: lint                  ## also the long checks on the real data
	$(BIN)/python -m pytest

lint: $(VENV)/installed-dev      ## formatting, lint, types
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy

format: $(VENV)/installed-dev
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

bench: $(VENV)/installed-dev     ## ratios and times, printed side by side; not a test
	$(BIN)/python -m benchmarks

docs: $(VENV)/installed-dev      ## regenerate the reference pages from the code
	$(BIN)/python scripts/make_reference.py

shipped: $(VENV)/installed-dev   ## rebuild the shipped figures from public result trees (DATA=path)
	$(BIN)/python scripts/make_shipped.py $(DATA)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache
