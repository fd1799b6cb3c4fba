# Every target sets up what it needs; a second run reinstalls nothing.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PIP_FLAGS := -qq --disable-pip-version-check --constraint constraints.txt

.PHONY: run test test-all lint results bench setup clean help

help:  ## Say what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

run: setup  ## Train on three of the paper's tasks, two minutes; curves go into out/
	$(BIN)/python examples/tour.py

test: setup  ## Run the tests, but for the slow ones
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-all: setup  ## Run every test
	$(BIN)/python -m pytest -n 2

lint: setup  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

results: setup  ## Learning results of every task, ten seeds, into results/ (an hour; goes on)
	$(BIN)/python benchmarks/learning.py

bench: setup  ## Time the solvers beside their peers, into results/benchmarks/
	$(BIN)/python benchmarks/solver.py

setup: $(STAMP)  ## Make .venv with everything installed

$(STAMP): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once, about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "odrpo needs Python 3.11 or later; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $(STAMP)

clean:  ## Remove .venv, caches and pictures
	rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
