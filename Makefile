# What people and CI run. All but `help` and `clean` make and fill .venv first when it is missing or stale.

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-windows corpus lint format bench bench-agents replay fuzz docs schemas clean

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.filled
PYTHONS := $(if $(PYTHON),$(PYTHON),python3.13 python3.12 python3.11 python3)
WORKERS ?= 2
SECONDS ?= 60
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
# Hundreds of tests start mdplan: each would compile it again where this variable is set.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=worksteal

# The stamp holds the folder that .venv was made for: one that was moved, or whose Python is gone, is stale.
ifneq ("$(shell $(BIN)/python -c '' 2>/dev/null && cat $(STAMP) 2>/dev/null)","$(CURDIR)")
$(shell rm -f $(STAMP))
endif

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-13s %s\n", $$1, $$2}' Makefile
	@echo 'Variables: PYTHON=PROGRAM for .venv (3.11 or newer), WORKERS=N test processes (2),'
	@echo 'SECONDS=N for each target of fuzz (60).'

demo: $(STAMP) ## inspect, plan, apply and refuse on the sample documents
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/samples/demo.sh

test: lint ## lint, then all tests that are not slow (what CI runs)
	@echo '== tests'
	@$(PYTEST) -m 'not slow'

test-all: lint ## lint, then all tests, the slow ones and more random examples too
	@if command -v npm > /dev/null; \
	then npm install --prefix tests/browser --no-package-lock --no-audit --no-fund --loglevel=error; fi
	@echo '== all tests'
	@MDPLAN_FULL=1 $(PYTEST) --timeout=3600

test-windows: ## make a Windows with Wine in build/windows (as root, on Debian), and test mdplan on it
	@bash tests/windows/run.sh build/windows

corpus: $(STAMP) ## try every operation on all documents of MDPLAN_CORPUS, and say what is refused
	@MDPLAN_FULL=1 $(BIN)/python -m pytest --numprocesses=0 --timeout=3600 tests/corpus

lint: $(STAMP) ## formatting, ruff, mypy, who may import whom, and our own documents
	@echo '== formatting'
	@$(BIN)/ruff format --check
	@echo '== ruff'
	@$(BIN)/ruff check
	@echo '== types'
	@$(BIN)/mypy
	@echo '== imports'
	@$(BIN)/lint-imports --no-logo
	@echo '== documents'
	@$(BIN)/mdplan bot check .ci/documents.yaml --root .

format: $(STAMP) ## format the code and fix what ruff can fix safely
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

bench: $(STAMP) ## measure speed
	@$(BIN)/python tests/benchmarks/run.py

bench-agents: $(STAMP) ## measure what thirty tasks cost an agent, with mdplan and with other tools
	@$(BIN)/python -m tests.benchmarks.agents.run

replay: $(STAMP) ## replay real changes of documents with mdplan and with other tools; ORIGIN=bundle or clone, TOOL=one tool
	@$(BIN)/python -m tests.benchmarks.replay.run $(if $(TOOL),--tool '$(TOOL)') $(ORIGIN)
	@$(BIN)/python -m tests.benchmarks.replay.report

fuzz: $(STAMP) ## feed odd input to each target of tests/fuzz for SECONDS, guided by coverage
	@$(PIP) install --only-binary=atheris --group fuzz || { \
	    echo 'make fuzz needs atheris, which cannot be installed here.' >&2; \
	    echo 'It is made for CPython 3.11 to 3.13 on Linux: try there, or make clean and make PYTHON=… fuzz.' >&2; \
	    exit 1; \
	}
	@$(BIN)/python -m tests.fuzz.run --seconds=$(SECONDS)

docs: $(STAMP) ## build the site into build/docs, strict about links, and run all that it shows
	@echo '== generated pages and schemas'
	@$(BIN)/python -m docs.codegen.generated --check
	@echo '== site'
	@$(BIN)/python -m sphinx -qnW --keep-going -d build/docs-state docs build/docs
	@echo '== examples'
	@$(BIN)/python -m pytest tests/docs --deselect tests/docs/test_site.py
	@echo 'The site is at build/docs/index.html'

schemas: $(STAMP) ## write schemas/ and the generated reference pages
	@$(BIN)/python -m docs.codegen.generated

clean: ## remove .venv and everything else that can be made again
	@rm -rf $(VENV) build dist .fuzz .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@python=; \
	for candidate in $(PYTHONS); do \
	    if "$$candidate" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	    then python=$$candidate; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	    echo 'mdplan needs Python 3.11 or newer with venv (on Debian: python3 and python3-venv).' >&2; \
	    echo 'Tried: $(PYTHONS). Name another one with: make PYTHON=/path/to/python3' >&2; \
	    exit 1; \
	fi; \
	echo "== making $(VENV) with $$("$$python" --version): once, and again when pyproject.toml changes"; \
	"$$python" -m venv --clear $(VENV)
	@$(PIP) install --upgrade 'pip>=25.1' # The first pip that reads dependency groups.
	@$(PIP) install --editable . --group dev
	@echo '$(CURDIR)' > $(STAMP)
