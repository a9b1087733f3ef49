# make demo    install into .venv and run the main example
# make test    install into .venv and run the tests
# make check   lint and types
# make sanitize   the kernels' tests under the address, undefined behaviour and thread sanitizers
# make bench   speed of a training step for every cell, as ratios to torch.nn.LSTM

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/unspool/native/cpp/*)

.PHONY: demo test check sanitize bench format clean

demo: $(VENV)/.installed
	$(BIN)/unspool demo

test: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

CPP := src/unspool/native/cpp
SITE = $(shell $(BIN)/python -c 'import site; print(site.getsitepackages()[0])')
PRELOAD = $(shell g++ -print-file-name=libasan.so) $(shell g++ -print-file-name=libubsan.so)

sanitize: $(VENV)/.installed-dev
	mkdir -p build
	g++ -std=c++20 -g -O1 -Wno-psabi -fsanitize=thread -DNUMBER=float -I$(CPP) tests/native/race.cpp $(CPP)/kernels.cpp \
	  -o build/race && build/race
	CXXFLAGS='-g -fsanitize=address,undefined -fno-sanitize-recover=undefined' \
	  $(BIN)/python -m pip install --quiet --no-deps --upgrade --target build/sanitized \
	  --config-settings build-dir=build/sanitizing .
	LD_PRELOAD='$(PRELOAD)' ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=build/sanitized:$(SITE) OMP_NUM_THREADS=2 \
	  $(PYTHON) -m pytest -p no:cacheprovider -k 'not environment' tests/native

bench: $(VENV)/.installed-dev
	$(BIN)/python bench/recurrent.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
