# Everything a newcomer types. Each target sets up what it needs into .venv.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
KERNELS := $(VENV)/.kernels
WORKERS ?= 2
# A parent's virtual environment must not leak into ours.
export VIRTUAL_ENV :=
export PYTHONPATH :=
export PYTHONNOUSERSITE := 1

.PHONY: help setup demo test test-fast lint type doctest bench check clean

help: ## Show what can be made
	@echo "make <target>, where <target> is one of"
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-10s %s\n", $$1, $$2}'

setup: $(KERNELS) ## Install Sash and its tools into .venv, and compile the kernels

$(STAMP): pyproject.toml constraints.txt
	@echo "Setting up $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt -e '.[dev,spark]'
	@touch $(STAMP)

$(KERNELS): $(STAMP) $(wildcard src/sash/engine/kernels/*.py)
	@$(BIN)/python -m sash.engine.kernels
	@touch $(KERNELS)

demo: setup ## Network traffic on Spark, through eight queries that Spark refuses or drowns in (ends by itself)
	@$(BIN)/sash demo

test: setup lint type ## Lint, types, doctests and every test, on two cores
	$(BIN)/python -m pytest -n $(WORKERS) -q tests

test-fast: setup ## The tests that take under a minute
	$(BIN)/python -m pytest -n $(WORKERS) -q -m 'not slow' tests

lint: $(STAMP) ## ruff: style and likely mistakes
	$(BIN)/ruff check .

type: $(STAMP) ## mypy, strict
	$(BIN)/mypy

doctest: setup ## The examples in docstrings and in README.md
	$(BIN)/python -m pytest -q tests/test_docs.py

bench: setup ## Measure the engine beside DuckDB (a few minutes)
	$(BIN)/sash bench engine

check: test ## Everything that must hold before a change is handed in: what takes long, too
	$(BIN)/python -m pytest -q -m long tests
	$(BIN)/python scripts/seeded_mistakes.py

clean: ## Remove .venv and every cache
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks scripts -name __pycache__ -type d -prune -exec rm -rf {} +
