# `make demo` shows the main job; `make test` runs everything that CI runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo install dev test lint unit conformance conformance-all soak bench docs clean help

help:           ## Show this help
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

demo: install   ## Install into .venv and run the main job on a throw-away workspace
	@$(BIN)/gitmem demo

install: $(VENV)/installed  ## Install gitmem into .venv

$(VENV)/installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: gitmem needs Python 3.11 or newer; name one with: make PYTHON=python3.12 …" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

dev: $(VENV)/developed  ## Install what the tests and checks need, too

$(VENV)/developed: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $@

test: lint unit conformance  ## Run everything that CI runs

lint: dev       ## Check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: dev       ## Run the tests that need nothing but git
	$(BIN)/pytest -q -n auto -m "not conformance and not soak"

conformance: dev  ## Drive the real claude and codex (from npm) against a model server on loopback
	$(BIN)/pytest -q -n auto -m "conformance and not extended and not soak"

conformance-all: dev  ## Drive every agent program that can be installed; writes docs/agents.md
	@$(BIN)/pytest -q -n auto -m "conformance and not soak"; ended=$$?; \
	  $(BIN)/python -m tests.conformance.table && exit $$ended

soak: dev       ## Run the long forms of the tests
	$(BIN)/pytest -q -m soak

bench: dev      ## Measure, beside floors and peers, and print the table of benchmarks/README.md
	$(BIN)/python -m benchmarks

docs: dev       ## Write the generated pages of docs/
	$(BIN)/python docs/generate.py

clean:          ## Remove what make has made
	rm -rf $(VENV) .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache dist
