# make run    sets up .venv, then the whole pipeline
# make test   sets up .venv, then the tests
PYTHON ?= python3
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1

.PHONY: run test lint bench ui setup

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

run: setup
	grep -q 'prefect: off' params.yaml || python -m flows.server --background
	dvc repro
	python -m flows.table

test: setup
	pytest

lint: setup
	ruff format --check .
	ruff check .
	mypy
	lint-imports

bench: setup
	python -m benchmarks

ui: setup
	python -m flows.server
