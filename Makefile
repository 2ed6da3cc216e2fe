# One command each. Only Python >= 3.11 and make must be there; everything else is installed into .venv and _build.
#
#   make book       install, execute the notebooks, build the HTML book     -> _build/html/index.html
#   make test       everything that is checked                              (make check: the quick part)
#   make notebooks  write book/*.ipynb again from book/myst/*.md, where they differ
#   make pdf, make zip  the whole book as one file: to print, to read offline        -> _build/lossnav.pdf, .zip
#   make archive    what is laid down for good: source, data, records, pages, PDF    -> _build/lossnav-VERSION.zip

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv$(if $(FLOOR),-floor)$(if $(NEWEST),-newest)
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
# Without .pyc files it takes a minute less: most modules are never imported.
PIP := $(PY) -m pip install -qq --no-compile
STARTED := $(shell date +%s)
TOOK = $$(($$(date +%s) - $(STARTED))) s

# What is installed is known by what the lists and the project's own table say, not by when they were written.
PROJECT := sed -n '/^\[project\]/,/^\[tool/p' pyproject.toml
LOCK := $(if $(LOCKED),requirements/lock.txt)
BOOK_LISTS := requirements/torch.txt requirements/book.txt $(LOCK)
TEST_LISTS := requirements/test.txt requirements/oracle.txt
BOOK_READY := $(VENV)/.book-$(shell { $(PROJECT); cat $(BOOK_LISTS); } | cksum | tr -dc 0-9)
TEST_READY := $(VENV)/.test-$(shell { $(PROJECT); cat $(BOOK_LISTS) $(TEST_LISTS); } | cksum | tr -dc 0-9)
VENDORED := book/_vendor/.fetched
BUILT := _build/.book-built

# The book and the tests use what lies in data/, whatever other copies this machine has.
unexport LOSSNAV_DATA

# Kernels and test workers run side by side: more threads than this each would fight for the cores.
export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Programs keep caches and settings in the home.
ifneq ($(shell [ -w "$${HOME:-}" ] && echo writable),writable)
export HOME := $(CURDIR)/_build/home
endif
# Images set it. Every worker and kernel would compile the package and the tests again: ten seconds each.
unexport PYTHONDONTWRITEBYTECODE

PACKAGE := $(shell find lossnav -name '*.py' -o -name '*.pyi' -o -path 'lossnav/explore/*.js*' -o -path 'lossnav/explore/*.css' -o -path 'lossnav/explore/*.svg' -o -name '*.mplstyle')
BOOK := _config.yml _toc.yml $(shell find book \( -name _vendor -o -name __pycache__ -o -name .ipynb_checkpoints \) -prune -o -type f -print) $(wildcard benchmarks/results/*.json data/*/*)
LEDGER := $(wildcard tests/equations/ledger.yml)
CHAPTERS = $(shell $(PY) book/_tools/notebooks.py list)

.PHONY: help install book pdf zip archive site notebooks check quick lint style types test outputs release committed reproduce nightly fuzz draws mutants wrong audit older sanitize browser shots clean

help:
	@sed -n '3,7s/^#  *//p' Makefile

install: $(TEST_READY) $(VENDORED)

$(BOOK_READY):
	@[ -n "$(PYTHON)" ] || { echo "make: needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3"; exit 1; }
	@[ -x $(PY) ] || { echo "install: creating $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); }
	@echo "install: what the book needs (a minute or two the first time)"
ifdef LOCKED
	@$(PIP) --no-deps --require-hashes -r $(LOCK)
	@$(PIP) --no-deps --no-build-isolation --editable .
else
	@$(PIP) --upgrade pip  # the one that comes with Python takes half as long again over the lists
	@$(PIP) $(addprefix -r ,$(BOOK_LISTS)) --editable .
endif
	@rm -f $(VENV)/.book-* && touch $@
	@echo "install: done, $(TOOK)"

# make … LOCKED=1: all at once from the lock, each file by its hash (for CI).
# make quick FLOOR=1: the quick tests in a venv of their own, with the oldest releases that pyproject.toml promises; and
# make quick NEWEST=1: with the newest of what the package computes with, whatever is pinned.
# (Types are checked with the pins alone: those of old releases are written differently.)
$(TEST_READY): | $(BOOK_READY)
	@echo "install: what the checks need"
ifndef LOCKED
	@$(PIP) -r requirements/test.txt $(addprefix -c ,$(BOOK_LISTS))
	@$(PIP) --no-deps -r requirements/oracle.txt
endif
	@$(if $(FLOOR),$(PIP) --no-deps $$($(PROJECT) | sed -nE 's/[^"]*"([a-z-]+)>=([0-9.]+)"[^"]*/\1==\2 /gp'))
	@$(if $(NEWEST),$(PIP) --upgrade numpy scipy sympy torch)
	@rm -f $(VENV)/.test-* && touch $@
	@echo "install: done, $(TOOK)"

$(VENDORED): package.json package-lock.json .npmrc book/_tools/vendor.py book/_tools/icons.py | $(BOOK_READY)
	@$(PY) book/_tools/vendor.py
	@touch $@

book: $(BUILT)
	@echo "book: open _build/html/index.html ($(TOOK) in all)"

$(BUILT): $(BOOK_READY) $(VENDORED) $(BOOK) $(PACKAGE) $(LEDGER)
	@mkdir -p _build && rm -f $@
	@$(PY) book/_tools/build.py
	@touch $@

pdf: $(TEST_READY)
pdf zip: $(BUILT)
	@$(PY) book/_tools/paper.py $@

archive: pdf
	@$(PY) book/_tools/archive.py

# What is published: the pages, and beside them the book as one file, to which the first page leads.
site: pdf
	@cp _build/lossnav.pdf _build/html/

notebooks: $(BOOK_READY)
	@$(PY) book/_tools/notebooks.py write --stale

lint: style types

style: $(TEST_READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || { echo "lint: run $(BIN)/ruff format ."; exit 1; }
	@said=$$(PYTHONPATH=book $(BIN)/lint-imports --no-cache 2>&1) || { echo "$$said"; exit 1; }
	@said=$$($(BIN)/zizmor --quiet --offline --no-progress .github 2>&1) || { echo "$$said"; exit 1; }
	@echo "lint: ruff, import-linter and zizmor have nothing to say"

# In a new clone mypy takes a minute: half of it reads the types of others.
types: $(TEST_READY)
	@$(BIN)/mypy --no-error-summary lossnav book/_tools benchmarks
	@$(PY) book/_tools/node.py check
	@echo "lint: mypy and, where they are installed, tsc and ESLint have nothing to say"

# A look at every wing in a minute: of each file the first tests that take less than a second, in one case.
# To read the files that are left out takes as long as a hundred tests; of doctests the first module alone would be run.
check: style quick
	@echo "check: passed, $(TOOK)"

quick: $(TEST_READY) $(VENDORED)
	@$(PY) -m pytest -n 2 --dist loadscope --few 2 -m "not browser and not slow" \
		$(addprefix --ignore tests/,browser optim/test_torch_matrix.py optim/test_distributed.py package/test_doctests.py \
		inputs/test_inputs_stretched.py inputs/test_inputs_walk.py)

# The pages that tests look at are those of `make book`, if they are of what lies here. Else they are built from the
# committed outputs, and nbval proves, beside that, that the code gives these: nothing is computed twice.
HTML = $(shell $(MAKE) --question $(BUILT) >/dev/null 2>&1 && echo _build/html || echo _build/committed/_build/html)

# The longest notebooks come first, so that both cores are busy to the end. (With a third worker on two cores it took no
# less.)
test: $(TEST_READY) $(VENDORED)
	@$(MAKE) --no-print-directory --keep-going -j 3 lint $(if $(findstring committed,$(HTML)),committed) outputs
	@LOSSNAV_HTML=$(HTML) $(PY) -m pytest -n 2 --dist loadscope --no-loadscope-reorder --durations 5
	@echo "test: passed, $(TOOK)"
	@$(PY) book/_tools/chrome.py --if-missing

outputs: $(TEST_READY)
	@$(PY) -m pytest -n 2 --dist loadscope --no-loadscope-reorder -p nbval -p tests.kernels --nbval --nbval-current-env \
		--nbval-sanitize-with tests/notebooks/sanitize.cfg --nbval-cell-timeout 900 $(CHAPTERS)

# What PyPI would get, tried as a stranger would: in an empty environment the wheel runs the README.
release: $(BOOK_READY)
ifndef LOCKED
	@$(PIP) -r requirements/release.txt
endif
	@rm -rf _build/dist _build/fresh && $(PY) -m build --outdir _build/dist . > _build/release.log
	@$(PY) -m twine check --strict _build/dist/*
	@version=$$($(PROJECT) | sed -nE 's/^version = "(.*)"/v\1/p'); \
		[ "$${GITHUB_REF_TYPE:-}" != tag ] || [ "$$GITHUB_REF_NAME" = "$$version" ] || \
		{ echo "release: the tag is $$GITHUB_REF_NAME, but the version is $$version"; exit 1; }
	@$(PYTHON) -m venv _build/fresh
	@_build/fresh/bin/python -m pip install -qq -r requirements/torch.txt "$$(ls _build/dist/*.whl)[torch]"
	@cp README.md _build/fresh && cd _build/fresh && bin/python -X utf8 -m doctest README.md
	@echo "release: _build/dist is what is published, $(TOOK)"

# make reproduce STUDY=root-known, make reproduce HOURS=2, make reproduce: recorded studies again, and how far they are.
reproduce: $(BOOK_READY)
	@$(PY) book/_tools/reproduce.py $(STUDY) $(if $(HOURS),--hours $(HOURS))

committed: $(BOOK_READY) $(VENDORED)
	@$(PY) book/_tools/build.py --committed

# make nightly runs all six. make fuzz CALLS=500 SEED=7; make draws TIMES=9; make mutants ROOM=lossnav/rules TESTS=tests/rules MOST=200.
NIGHTLY ?= fuzz draws mutants wrong audit older
CALLS ?= 10000
TIMES ?= 3
SEED ?= $(shell date +%j)
MOST ?= 60
nightly: $(TEST_READY)
	@$(MAKE) --no-print-directory --keep-going $(NIGHTLY)

fuzz: $(TEST_READY)
	@LOSSNAV_FUZZ=$(CALLS),$(SEED) $(PY) -m pytest tests/inputs/test_inputs_stretched.py

# The tests that draw their cases, with so many times as many.
draws: $(TEST_READY) $(VENDORED)
	@LOSSNAV_DRAWS=$(TIMES) $(PY) -m pytest $(shell grep -rl --include='test_*.py' 'import draws' tests)

mutants: $(TEST_READY) $(VENDORED)
	@$(PY) tests/mutants.py $(ROOM) $(if $(TESTS),--tests $(TESTS)) --most $(MOST) --seed $(SEED)

wrong: $(TEST_READY)
	@$(PY) tests/equations/wrong_formulas.py

# Chapters and tests in the arithmetic of a processor of 2004: other orders of summation, no products in bfloat16.
older: export OPENBLAS_CORETYPE := Prescott
older: export MKL_CBWR := COMPATIBLE
older: export ONEDNN_MAX_CPU_ISA := SSE41
older: export ATEN_CPU_CAPABILITY := avx2
older: outputs
	@$(PY) -m pytest -n 2 --dist loadscope -m "not browser"

audit: $(BOOK_READY)
	@$(PY) book/_tools/audit.py

# The kernels in C, built so that they stop at the first access out of bounds and at what C does not define.
sanitize: $(TEST_READY)
	@CC="gcc -g -fsanitize=address,undefined -fno-sanitize-recover=all" LOSSNAV_KERNELS=_build/sanitized \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
		$(PY) -m pytest tests/optim/test_fused.py tests/optim/test_fused_rules.py

browser: $(TEST_READY)
	@$(PY) -m pytest tests/browser

shots: $(TEST_READY)
	@$(PY) book/_tools/shots.py _build/shots

clean:
	@rm -rf _build book/_vendor .pytest_cache .mypy_cache .ruff_cache
	@find lossnav studies book tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
