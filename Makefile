# Two commands: `make demo` and `make test`. Each does all of its own set-up.
# PYTHON=... picks another interpreter (3.11 or newer).

VENV   ?= .venv
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
             $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
BIN    := $(VENV)/bin
PIN     = uv pip compile --universal --python-version 3.11 --generate-hashes \
          --no-emit-index-url --no-header --no-annotate --quiet
LOCK    = $(PIN) pyproject.toml --group build

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow row-counts coverage lint types lock facts docs row-counts site dist bench fuzz mutate audit clean

help: ## show what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(BIN)/.run-ready ## run the whole workflow on the shipped rounds and show a ranking
	@export GPURANK_HOME="$${GPURANK_HOME:-data/demo}" && $(BIN)/gpurank run && \
	 $(BIN)/gpurank clusters --benchmark llama2_70b_lora && \
	 $(BIN)/gpurank rounds && \
	 $(BIN)/gpurank top --benchmark llama2_70b_lora --round v5.1 && \
	 echo "next: GPURANK_HOME=$$GPURANK_HOME $(BIN)/gpurank --help" >&2

test: $(BIN)/.test-ready ## run the tests (TESTS="tests/unit/gpurank/systems/test_identity.py" for some)
	@$(BIN)/pytest $(if $(TESTS),$(TESTS),-n auto --dist loadfile -m "not slow")

test-slow: $(BIN)/.test-ready ## run the slow tests: kills, deployments, clusters, browsers, whole rounds
	@$(BIN)/pytest -n auto --dist loadfile -m slow

lint: $(BIN)/.test-ready ## style, layers
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports

types: $(BIN)/.test-ready ## static types
	@$(BIN)/mypy

lock: ## pin every dependency by version and hash again (needs uv)
	$(LOCK) --output-file requirements/run.lock
	$(LOCK) --group dev --constraint requirements/run.lock --output-file requirements/dev.lock
	$(LOCK) --group docs --constraint requirements/run.lock --output-file requirements/docs.lock
	$(PIN) --no-deps --group axe --output-file requirements/axe.lock
	$(PIN) --group audit --constraint requirements/dev.lock --output-file requirements/audit.lock

facts: $(BIN)/.run-ready ## rebuild the shipped facts: make facts SOURCE=<mirror folder or URL template> (ACCEPT_MISSING=1)
	@test -n "$(SOURCE)" || { echo "make facts SOURCE=<mirror folder, or a template with {round}>" >&2; exit 2; }
	$(BIN)/gpurank facts build --source "$(SOURCE)" $(if $(ACCEPT_MISSING),--accept-missing)

docs: $(BIN)/.run-ready ## write docs/tables.md from the contracts and docs/method.md's tables from the shipped rounds
	@$(BIN)/python -m tools.docs.dictionary > docs/tables.md
	@export GPURANK_HOME=data/docs && $(BIN)/gpurank run && \
	 $(BIN)/python -m tools.docs.method_tables docs/method.md

row-counts: $(BIN)/.run-ready ## write expectations/row_counts.csv from the shipped rounds
	@export GPURANK_HOME=data/docs && $(BIN)/gpurank run && \
	 $(BIN)/python -m tools.row_counts data/docs/warehouse.duckdb > expectations/row_counts.csv

bench: $(BIN)/.run-ready ## measure against the official parser: make bench SOURCE=<mirror folder>
	@test -n "$(SOURCE)" || { echo "make bench SOURCE=<mirror folder of the rounds' archives>" >&2; exit 2; }
	$(BIN)/python -m tools.benchmarks.run --source "$(SOURCE)" --output data/bench/figures.json

site: $(BIN)/.site-ready ## build the documentation site into build/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@! grep -rnoE '<(script|link|img|iframe)[^>]* (src|href)="(https?:)?//[^"]*"' build/site --include=*.html || \
	 { echo "a page loads something from elsewhere" >&2; exit 1; }
	@echo "build/site/index.html opens from the disk, search included"

dist: $(BIN)/.run-ready ## build wheel and source archive into dist/, with their hashes
	@rm -rf dist && $(BIN)/python -m hatchling build -d dist >/dev/null && \
	 cd dist && sha256sum * > SHA256SUMS && cat SHA256SUMS

fuzz: $(BIN)/.test-ready ## fuzz each target: make fuzz SECONDS=60 (TARGETS="reader system archive lookups")
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check "atheris>=3.0" || \
	 { echo "atheris has no package for this Python; make test fuzzes with Hypothesis instead" >&2; exit 2; }
	@for t in $(or $(TARGETS),reader system archive lookups); do $(BIN)/python -m tools.fuzz.run $$t --seconds $(or $(SECONDS),60) || exit 1; done

mutate: $(BIN)/.test-ready ## damage published files and judge: make mutate SOURCE=<mirror folder> (COUNT=10000 SEED=1)
	@test -n "$(SOURCE)" || { echo "make mutate SOURCE=<mirror folder of the rounds' archives>" >&2; exit 2; }
	@$(BIN)/python -m tools.fuzz.mutate --source "$(SOURCE)" --count $(or $(COUNT),10000) --seed $(or $(SEED),1)

audit: $(BIN)/.audit-ready ## licences, bill of materials, known vulnerabilities (STRICT=1: no answer fails)
	@$(BIN)/python -m tools.supply.audit --sbom data/sbom.cdx.json $(if $(STRICT),--strict)

coverage: $(BIN)/.test-ready ## branches of gpurank/ that the quick tests reach; less than 95 % fails
	@$(BIN)/pytest tests/unit tests/sql tests/cases tests/hostile --cov --cov-report=term --cov-fail-under=95

clean: ## remove the virtual environment and the demo's data
	rm -rf $(VENV) data/demo

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "gpurank needs Python 3.11 or newer; none was found. Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 2; }
	@echo "creating $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv $(VENV) || { echo "python could not make a virtual environment; on Debian and Ubuntu: apt install python3-venv" >&2; rm -rf $(VENV); exit 2; }

$(BIN)/.run-ready: $(BIN)/python requirements/run.lock pyproject.toml
	@echo "installing the pinned packages (once, about a minute)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(BIN)/.test-ready: $(BIN)/.run-ready requirements/dev.lock requirements/axe.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements/axe.lock
	@touch $@

$(BIN)/.audit-ready: $(BIN)/.test-ready requirements/audit.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.lock
	@touch $@

$(BIN)/.site-ready: $(BIN)/.run-ready requirements/docs.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.lock
	@touch $@
