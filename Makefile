# make demo    install into .venv and run the main example
# make test    install into .venv and run the tests
# make check   lint and types
# make sanitize   the kernels' tests under the address, undefined behaviour and thread sanitizers
# make bench   speed of a training step for every cell, as ratios to torch.nn.LSTM
# make pictures   the pictures of README and docs, by the commands beside them; some minutes

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/unspool/native/cpp/*)

.PHONY: demo test check sanitize bench pictures format clean

demo: $(VENV)/.installed
	$(BIN)/unspool demo

test: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -rs

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

CPP := src/unspool/native/cpp
AVX512 := -mavx512f -mavx512dq -mavx512vl -mfma
KINDS = g++ -std=c++20 -g -O1 -Wno-psabi -I$(CPP) tests/native/kinds.cpp $(CPP)/kernels.cpp -o build/kinds

sanitize:
	mkdir -p build
	for number in float bf16; do \
	  for flags in -fsanitize=thread -fsanitize=address,undefined '-fsanitize=address,undefined $(AVX512)'; do \
	    echo "$$number $$flags"; $(KINDS) -DNUMBER=$$number $$flags && build/kinds || exit 1; \
	  done; \
	done

bench: $(VENV)/.installed-dev
	$(BIN)/python bench/recurrent.py

pictures: $(VENV)/.installed-dev
	$(BIN)/python docs/pictures/make.py

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
