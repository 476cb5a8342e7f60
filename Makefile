# Every target that needs it runs the set-up first; a set-up that is up to date costs a fraction of a second.
SHELL := /bin/bash
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
UPGRADE ?=

.PHONY: help setup demo test test-long test-faults check check-style check-types check-imports check-quick up down bench docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: ## make .venv: locked packages, Farwatch itself, Delta jars (repairs an interrupted set-up)
	@command -v $(PYTHON) >/dev/null || { echo "Set-up stopped: $(PYTHON) is not on PATH; install Python 3.11, 3.12 or 3.13, or name it: make setup PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) tools/bootstrap.py </dev/null

demo: setup ## six epochs through Airflow, Spark, Delta and Great Expectations, in a few minutes
	@$(BIN)/farwatch demo </dev/null

test: setup ## every test, two files at a time
	@$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder </dev/null

test-long: setup ## the long statistics and fault runs
	@$(BIN)/pytest -m long </dev/null

test-faults: setup ## epochs, backfill, audit and maintenance in a real scheduler, with a kill -9 every few seconds
	@$(BIN)/pytest -m "" -s tests/dags/test_faults.py </dev/null

check: setup ## the fast checks: ruff, mypy, import contracts, the library's quick tests; under a minute
	@$(MAKE) --no-print-directory -j2 -O check-quick check-types check-style check-imports

check-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

check-types:
	$(BIN)/mypy

check-imports:
	$(BIN)/lint-imports

check-quick:
	$(BIN)/pytest -q -m "not slow and not long" tests/config tests/tools tests/test_*.py tests/synopses/test_fm.py \
	  tests/protocols/frequent_items/test_worked_example.py tests/protocols/topk/test_question.py </dev/null

up: setup ## start Airflow with its UI, and Spark, on this machine
	@$(BIN)/farwatch up </dev/null

down: setup ## stop what `make up` started
	@$(BIN)/farwatch down </dev/null

bench: setup ## run every benchmark (one alone: .venv/bin/python -m benchmarks.NAME)
	@set -e; for file in benchmarks/[a-z]*.py; do name=$$(basename "$$file" .py); echo "== benchmarks.$$name"; \
	  $(BIN)/python -m "benchmarks.$$name" </dev/null; done

docs: setup ## the documentation as a site, in build/site; a broken link is an error
	@cmp -s requirements-docs.lock .venv/docs/requirements-docs.lock || { rm -rf .venv/docs; \
	  $(BIN)/uv pip install --quiet --require-hashes --target .venv/docs -r requirements-docs.lock && \
	  cp requirements-docs.lock .venv/docs/; }
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=.venv/docs $(BIN)/python -m mkdocs build --clean </dev/null
	@echo "the site is in build/site; open build/site/index.html"

COMPILE := pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links \
  --custom-compile-command 'make lock' --quiet

lock: setup ## rewrite the lock files from pyproject.toml (newest versions: make lock UPGRADE=1)
	@$(BIN)/uv $(COMPILE) $(if $(UPGRADE),--upgrade) pyproject.toml --all-extras --group dev --output-file requirements.lock
	@$(BIN)/uv $(COMPILE) $(if $(UPGRADE),--upgrade) --group docs --constraints requirements.lock --output-file requirements-docs.lock
	@echo "requirements.lock is written, 'make setup' installs it; requirements-docs.lock is for 'make docs'."

clean: ## remove .venv and every cache
	@rm -rf .venv .setup.lock .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis build ./*.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
