# Two commands on a fresh machine: `make demo` and `make test`. Both set up everything they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := l2e tests benchmarks examples experiments tools

.PHONY: demo test check unit core-test browser-test docs lowest format clean

demo: $(VENV)/.demo
	$(BIN)/l2e demo --out demo

test: check unit core-test

check: $(VENV)/.dev
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/pyright --pythonpath $(BIN)/python

unit: $(VENV)/.dev
	$(BIN)/pytest -n 2 --dist worksteal

core-test: $(VENV)-core/.core  # the default method where JAX is not installed
	$(VENV)-core/bin/python tests/without_jax/check.py

browser-test: $(VENV)/.dev  # needs Chromium or Chrome on the machine
	$(BIN)/python tests/browser/check_page.py

docs: $(VENV)/.docs  # strictly: a broken link or a missing name is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

LOWEST := .venv-lowest
lowest:  # a search with the lowest versions that pyproject.toml allows, and no others
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python tests/lowest_versions.py > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check --requirement $(LOWEST)/lowest.txt
	$(LOWEST)/bin/pip install --quiet --disable-pip-version-check --no-deps .
	cd $(LOWEST) && bin/python ../tests/lowest_versions.py --search

format: $(VENV)/.dev
	$(BIN)/ruff format $(CHECKED)
	$(BIN)/ruff check --fix $(CHECKED)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "l2e needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[jax,report]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)-core/.core: pyproject.toml | $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)-core
	$(VENV)-core/bin/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) $(VENV)-core $(VENV)-lowest site demo .pytest_cache .ruff_cache .hypothesis
