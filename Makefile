# One command each. Only Python >= 3.11 and make must be there; everything else is installed into .venv and _build.
#
#   make book       install, execute the notebooks, build the HTML book     -> _build/html/index.html
#   make test       everything that is checked                              (make check: the quick part)
#   make notebooks  write book/*.ipynb again from book/myst/*.md, where they differ
#   make pdf, make zip  the whole book as one file: to print, to read offline        -> _build/lossnav.pdf, .zip

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
VENDORED := book/_vendor/.fetched
BUILT := _build/.book-built

# The book and the tests use what lies in data/, whatever other copies this machine has.
unexport LOSSNAV_DATA

# An oracle of the tests, and what it imports. It would bring torchvision, whose builds need not fit this torch, and
# transformers imports whatever torchvision it finds.
ORACLE := curvlinops-for-pytorch==3.0.1 linear_operator==0.6.1 einconv==0.1.0 einops==0.8.2

# Kernels and test workers run side by side: more threads than this each would fight for the cores.
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Images set it. Every worker and kernel would compile the package and the tests again: ten seconds each.
unexport PYTHONDONTWRITEBYTECODE

PACKAGE := $(shell find lossnav -name '*.py' -o -name '*.pyi' -o -path 'lossnav/explore/*.js*' -o -path 'lossnav/explore/*.css' -o -name '*.mplstyle')
BOOK := _config.yml _toc.yml $(shell find book \( -name _vendor -o -name __pycache__ -o -name .ipynb_checkpoints \) -prune -o -type f -print) $(wildcard benchmarks/results/*.json)
LEDGER := $(wildcard tests/equations/ledger.yml)
CHAPTERS = $(shell $(PY) book/_tools/notebooks.py list)

.PHONY: help install book pdf zip notebooks check quick lint test committed browser shots clean

help:
	@sed -n '3,6s/^#  *//p' Makefile

install: $(INSTALLED)

$(INSTALLED): requirements.txt pyproject.toml
	@[ -n "$(PYTHON)" ] || { echo "make: needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3"; exit 1; }
	@[ -x $(PY) ] || { echo "install: creating $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); }
	@echo "install: requirements.txt (a few minutes the first time)"
	@$(PY) -m pip install --quiet --no-compile -r requirements.txt  # a minute less: most modules are never imported
	@$(PY) -m pip install --quiet --no-compile --no-deps $(ORACLE) --editable .
	@touch $@

$(VENDORED): package.json package-lock.json .npmrc requirements.txt book/_tools/vendor.py book/_tools/icons.py | $(INSTALLED)
	@$(PY) book/_tools/vendor.py
	@touch $@

book: $(BUILT)

$(BUILT): $(INSTALLED) $(VENDORED) $(BOOK) $(PACKAGE) $(LEDGER)
	@mkdir -p _build && rm -f $@
	@$(PY) book/_tools/build.py
	@touch $@

pdf zip: $(BUILT)
	@$(PY) book/_tools/paper.py $@

notebooks: $(INSTALLED)
	@$(PY) book/_tools/notebooks.py write --stale

lint: $(INSTALLED)
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --check --quiet . || { echo "lint: run $(VENV)/bin/ruff format ."; exit 1; }
	@$(VENV)/bin/mypy --no-error-summary lossnav book/_tools benchmarks
	@$(PY) book/_tools/node.py check
	@said=$$($(VENV)/bin/lint-imports --no-cache 2>&1) || { echo "$$said"; exit 1; }
	@echo "lint: ruff, mypy, import-linter and, where they are installed, tsc and ESLint have nothing to say"

# A look at every wing in a minute: of each file the first tests that take less than a second, in one case; lint goes on
# beside them.
# To read the files that are left out takes as long as a hundred tests; of doctests the first module alone would be run.
check: $(INSTALLED)
	@$(MAKE) --no-print-directory -j 2 lint quick

quick: $(INSTALLED)
	@$(PY) -m pytest -n 2 --dist loadscope --few 2 -m "not browser and not slow" \
		$(addprefix --ignore tests/,browser optim/test_torch_matrix.py optim/test_distributed.py package/test_doctests.py)

# The book is built from its committed outputs, and nbval (below) proves that the code gives these outputs: nothing is
# computed twice. Notebooks come first, the longest ahead, so that both cores are busy to the end. (With a third worker
# on two cores it took no less.)
test: $(VENDORED)
	@$(MAKE) --no-print-directory -j 2 lint committed
	@LOSSNAV_HTML=_build/committed/_build/html $(PY) -m pytest -n 2 --dist loadscope --no-loadscope-reorder --durations 5 \
		-p nbval --nbval --nbval-current-env --nbval-sanitize-with tests/notebooks/sanitize.cfg --nbval-cell-timeout 900 \
		$(CHAPTERS) tests
	@$(PY) book/_tools/chrome.py --if-missing

committed: $(VENDORED)
	@$(PY) book/_tools/build.py --committed

browser: $(INSTALLED)
	@$(PY) -m pytest tests/browser

shots: $(INSTALLED)
	@$(PY) book/_tools/shots.py _build/shots

clean:
	@rm -rf _build book/_vendor .pytest_cache .mypy_cache .ruff_cache
	@find lossnav studies book tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
