# The one entry to the project. Needs Python 3.11 or newer, git and make; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
DEV := .venv/.with-dev

.PHONY: demo paper test check format docs fuzz faults audit clean
demo: .venv/.installed  ## train a model, show its topics, search with it
	$(BIN)/docboltz demo

paper: .venv/.with-lda  ## the paper's tables and figures, into results/; RCV1=folder for Reuters, ARGS=--quick on a CPU
	$(BIN)/docboltz reproduce --out results $(if $(RCV1),--rcv1 $(RCV1)) $(ARGS)

test: $(DEV)     ## every test, on all cores; ARGS="--slow" adds those that take minutes
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal $(ARGS)

check: $(DEV)    ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)   ## let ruff fix what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(DEV)     ## generated input for MINUTES=60, with another seed each round
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(or $(MINUTES),60)

faults: $(DEV)   ## KILLS=200 random kills of every command that writes, full disks, two writers, clocks that jump
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/faults.py --kills $(or $(KILLS),200)

audit: $(DEV)    ## ask the databases of known vulnerabilities about all that is installed; needs the network
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	.venv/audit/bin/pip-audit --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

docs: .venv/.with-docs  ## build the site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

clean:           ## remove the environment, the site and every cache
	rm -rf .venv site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# Stamps are touched last: an interrupted set-up starts again, a changed dependency rebuilds from nothing.
.venv/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "docboltz needs Python 3.11 or newer; this is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 ..."; exit 2; }
	$(PYTHON) -m venv --clear .venv
	$(INSTALL) .
	@touch $@

# An extra goes on top. The stamp below it is away meanwhile: a half-installed package is not mended, but removed.
.venv/.with-%: .venv/.installed
	@mv $< $<.unsure
	$(INSTALL) '.[$*]'
	@mv $<.unsure $<
	@touch $@
