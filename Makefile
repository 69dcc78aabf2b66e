# Two commands on a fresh machine: `make demo` and `make test`. Both set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := l2e tests benchmarks examples

.PHONY: demo test check unit browser-test format clean

demo: $(VENV)/.demo
	$(BIN)/l2e demo --out demo

test: check unit

check: $(VENV)/.dev
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal

browser-test: $(VENV)/.dev  # needs Chromium or Chrome on the machine
	$(BIN)/python tests/browser/check_page.py

format: $(VENV)/.dev
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "l2e needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) demo .pytest_cache .ruff_cache .hypothesis
