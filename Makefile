# Only python3 (3.11 or newer, with venv) and make are needed; everything else is installed into .venv.
# Another Python: PYTHON=python3.12 make install

PYTHON ?= python3
JOBS ?= 2
# How long `make fuzz` runs, and where it starts: SEED=1234 MINUTES=60 ENGINE=spark make fuzz
MINUTES ?= 5
SEED ?=
ENGINE ?= embedded
# What `make mutants` breaks, and how often: FILES='planning/*.py' SEED=2 COUNT=50 make mutants
FILES ?= reasoning/**/*.py
COUNT ?= 100

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# loadgroup keeps the tests of a group in one process: those of Spark share a session.
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help install run test test-all test-plain-spark fuzz mutants test-cluster bench check clean clean-all

help: ## list the targets
	@echo "Corollary: a Datalog reasoner. Targets:"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

install: $(STAMP) ## create .venv and install Corollary with every extra into it

run: $(STAMP) ## run the wind farm example through the pipeline on Spark
	$(BIN)/corollary run examples/wind_farm/wind_farm.dl --engine spark --out build/wind_farm --format parquet

test: check ## check, then run the tests except the slow ones
	$(PYTEST) -m "not slow"

test-all: check ## check, then run all the tests with all their generated examples, and generated scripts for MINUTES=5
	COROLLARY_EXAMPLES=all $(PYTEST) -m "not cluster"
	$(MAKE) test-plain-spark
	$(MAKE) fuzz
	$(MAKE) test-cluster

# Not by pytest: one process that runs for as long as it is told to, and stops at the first difference.
fuzz: $(STAMP) ## run generated scripts that mix all settings, for MINUTES=5 from SEED on
	$(BIN)/python -m tests.fuzz --engine $(ENGINE) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

mutants: $(STAMP) ## break COUNT=100 places of FILES='reasoning/**/*.py', and show which of them no test notices
	$(BIN)/python -m tests.mutants --files '$(FILES)' --count $(COUNT) $(if $(SEED),--seed $(SEED))

# A process has one Spark, so a session with other settings from the start needs another process.
test-plain-spark: $(STAMP) ## run the tests of Spark in a session as Spark starts it
	COROLLARY_TEST_PLAIN_SPARK=1 $(BIN)/python -m pytest -m "spark and not slow and not cluster" tests/engines/spark tests/engine_suite

# Alone: a cluster needs the machine, and a process has one Spark.
test-cluster: $(STAMP) ## run the tests on a Spark cluster of three processes, some of which are killed
	$(BIN)/python -m pytest -m cluster

bench: $(STAMP) ## run the benchmarks
	$(BIN)/python -m benchmarks

check: $(STAMP) ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean: ## remove caches and build output
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean ## remove .venv as well
	rm -rf $(VENV)

# The stamp is written last: an install that was interrupted is taken up again.
$(STAMP): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { \
	  echo "make: $(PYTHON) was not found. Install Python 3.11 or newer, or name one: PYTHON=/path/to/python3 make" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "make: $(PYTHON) is `$(PYTHON) -V 2>&1`, and Corollary needs 3.11 or newer. Name another: PYTHON=python3.12 make" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "make: $(PYTHON) cannot create virtual environments (on Debian and Ubuntu: sudo apt install python3-venv)" >&2; exit 1; }
	@if $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  echo "== Updating the virtual environment $(VENV)"; \
	else \
	  echo "== Creating a virtual environment in $(VENV) with `$(PYTHON) -V`"; \
	  $(PYTHON) -m venv --clear $(VENV); \
	fi
	@echo "== Installing Corollary and everything it uses, at the versions in constraints.txt."
	@echo "   The first time this downloads about 800 MB, most of it Spark, and takes a few minutes."
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[all,dev]'
	@echo "== Compiling the kernels of the embedded engine, once (about half a minute)"
	@$(BIN)/corollary run examples/wind_farm/wind_farm.dl >/dev/null
	@echo "== Compiling the kernels that follow changes, once (about half a minute)"
	@$(BIN)/python -m corollary.cli.warm_up
	@touch $(STAMP)
	@echo "== Installed. Try: $(BIN)/corollary doctor"
