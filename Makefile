# Two commands for a newcomer: `make demo` and `make test`. `make all` is what a change has to pass.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STAMP := $(VENV)/.ready
JOBS ?= 2
T ?= tests

.DEFAULT_GOAL := help
.PHONY: help demo test all format lint types tests regen generated conversions bench clean

help:  ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(STAMP): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

demo: $(INSTALLED)  ## install, then classify handwritten digits
	@$(BIN)/python examples/digits/demo.py

test: all  ## everything that CI runs

all: lint types generated tests  ## format check, lint, types, generated files, tests

format: $(STAMP)  ## rewrite the sources in the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

tests: $(STAMP)  ## the test suite; T=path picks a part
	$(BIN)/python -m pytest -n $(JOBS) -q $(T)

regen: $(STAMP)  ## write the generated files anew
	$(BIN)/python tools/regen.py

generated: $(STAMP)  ## the generated files are what the generators write
	$(BIN)/python tools/regen.py --check

conversions: $(STAMP)  ## every official case under every other version of its operator sets
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/conversions.py

bench: $(STAMP)  ## measure loading, saving and start-up beside other tools
	$(BIN)/python -m pip install --quiet --group bench
	OPENBLAS_NUM_THREADS=1 $(BIN)/python bench/run.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .demo
