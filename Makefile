# Every target sets up what it needs; a second run reinstalls nothing.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
PEERS := .peers
PEER_PIP := -m pip install -qq --disable-pip-version-check
PIP_FLAGS := -qq --disable-pip-version-check --constraint constraints.txt

.PHONY: run test test-all test-baselines lint reproduce report baselines bench soak peers setup clean help

help:  ## Say what there is
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 16

run: setup  ## Train on three of the paper's tasks, two minutes; curves go into out/
	$(BIN)/python examples/tour.py

test: setup  ## Run the tests, but for the slow ones
	$(BIN)/python -m pytest -n 2 -m "not slow" --durations 12

test-all: setup  ## Run every test, with programs that are compiled as for users
	XLA_FLAGS= $(BIN)/python -m pytest -n 2

test-baselines: baselines  ## Run the tests that need Stable-Baselines3
	$(BIN)/python -m pytest -n 2 tests/experiments/test_pool.py -k baseline

lint: setup  ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reproduce: setup baselines  ## All runs that are published, into results/ and docs/results.md (hours; goes on)
	$(BIN)/odrpo reproduce --published --page docs/results.md

report: setup  ## All results as one page, results/report.html
	$(BIN)/odrpo report results

baselines: $(VENV)/baselines  ## Add Stable-Baselines3 to .venv (torch)

# Torch first: without its version pip might take one with gigabytes of CUDA.
$(VENV)/baselines: $(STAMP)
	@$(BIN)/python -m pip install $(PIP_FLAGS) torch==2.13.0
	@$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[baselines]'
	@touch $@

soak: setup peers  ## Kill runs, damage files, take 10^8 steps: the long form of the reliability tests (an hour)
	PYTHONPATH=. $(BIN)/python benchmarks/soak.py
	PYTHONPATH=. $(BIN)/python benchmarks/trust.py

bench: setup peers  ## Time solvers and training beside their peers, into results/benchmarks/
	$(BIN)/python benchmarks/solver.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/continuous.py
	$(BIN)/python benchmarks/field.py

peers: $(PEERS)/sb3/installed $(PEERS)/sbx/installed $(PEERS)/rejax/installed  ## Make the peers' environments (torch)

$(PEERS)/sb3/installed: Makefile
	@$(PYTHON) -m venv $(PEERS)/sb3
	@$(PEERS)/sb3/bin/python $(PEER_PIP) torch==2.13.0
	@$(PEERS)/sb3/bin/python $(PEER_PIP) stable-baselines3==2.9.2 sb3-contrib==2.9.2 'gymnasium[mujoco]' mujoco==4.0.0
	@touch $@

# Torch first here too: another version, which sbx-rl might choose, comes with gigabytes of CUDA.
$(PEERS)/sbx/installed: Makefile
	@$(PYTHON) -m venv $(PEERS)/sbx
	@$(PEERS)/sbx/bin/python $(PEER_PIP) torch==2.13.0
	@$(PEERS)/sbx/bin/python $(PEER_PIP) sbx-rl==0.28.0 'gymnasium[mujoco]' mujoco==4.0.0
	@touch $@

$(PEERS)/rejax/installed: Makefile
	@$(PYTHON) -m venv $(PEERS)/rejax
	@$(PEERS)/rejax/bin/python $(PEER_PIP) rejax==0.1.3 gymnax==0.0.9 jax==0.10.2
	@touch $@

setup: $(STAMP)  ## Make .venv with everything installed

$(STAMP): pyproject.toml constraints.txt
	@echo "setting up $(VENV) (once, about a minute)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "odrpo needs Python 3.11 or later; set PYTHON=")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP_FLAGS) --editable '.[dev]'
	@touch $(STAMP)

clean:  ## Remove .venv, caches and pictures
	rm -rf $(VENV) $(PEERS) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .jax_cache src/*.egg-info
	find src tests benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
