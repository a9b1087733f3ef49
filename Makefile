# make demo    install into .venv and run the main example
# make test    install into .venv and run the tests, then some again as on other processors
# make course  train every model of docs/course.md and check what the page says of it; 8 minutes of one core
# make check   lint and types
# make wheel   an sdist and a wheel in dist, and a look into them; some minutes, most of them the compiler's
# make sanitize   the kernels' tests under the address, undefined behaviour and thread sanitizers
# make docs    the documentation as a site in build/site; broken links fail
# make arm     the kernels' tests for 64-bit ARM, cross-compiled and run in QEMU
# make bench   speed of a training step for every cell, as ratios to torch.nn.LSTM
# make pictures   the pictures of README and docs, by the commands beside them; some minutes

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
INSTALL := $(BIN)/python -m pip install --quiet --constraint requirements/constraints.txt
SOURCES := pyproject.toml CMakeLists.txt $(wildcard src/unspool/native/cpp/*)

.PHONY: demo test course check docs wheel sanitize arm bench pictures format clean

demo: $(VENV)/.installed
	$(BIN)/unspool demo

# A file a worker, in the order of tests/conftest.py: what a file trains is trained once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -rs
CONFORMANCE := $(addprefix tests/conformance/test_,cells.py models.py all_models.py streaming.py)
NUMERIC := $(CONFORMANCE) tests/native tests/nn/test_fused.py tests/search \
	tests/training/test_optim.py tests/training/test_precision.py
# Left out of passes 2 and 3: saving, counting, reading files and drawing, which are alike whatever computes;
# tests that compile or choose instruction sets themselves; float64 and models without a native kernel.
ALIKE := saved_and_loaded or save_equals_load or summary_adds_up or looking_answers or two_threads or a_file \
	or number_of_parameters or refused or can_be_streamed
COMPILED := test_products or test_tiles or instruction_sets or test_installation
NO_KERNEL := gradcheck or (classify or regress or forecast) and (-cnn or -linear or -transformer or -majority or -mean)
ONCE := $(ALIKE) or $(COMPILED) or $(NO_KERNEL)
AVX2_ONLY := ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 UNSPOOL_NATIVE=avx2

test: export OMP_NUM_THREADS = 1
# Threads that wait must not spin: there may be more of them than cores.
test: export OMP_WAIT_POLICY = passive
test: $(VENV)/.installed-dev
	@red=0; \
	echo 'make test, 1 of 3: all tests, with all that this processor has'; \
	$(PYTEST) --durations=50 || red=1; \
	echo 'make test, 2 of 3: what computes, as on a processor with AVX2 alone'; \
	$(AVX2_ONLY) $(PYTEST) -k 'not ($(ONCE))' $(NUMERIC) || red=1; \
	echo 'make test, 3 of 3: what computes, without native kernels'; \
	UNSPOOL_NATIVE=0 $(PYTEST) -k 'not ($(ONCE))' $(NUMERIC) || red=1; \
	exit $$red

course: export OMP_NUM_THREADS = 1
course: $(VENV)/.installed-dev
	$(PYTEST) -m 'course or not course' --durations=0 tests/course tests/test_course.py

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.installed
	$(INSTALL) 'unspool[docs]'
	$(BIN)/python -m mkdocs build --strict

wheel: $(VENV)/.installed-dev
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python bench/wheel.py dist

CPP := src/unspool/native/cpp
AVX512 := -mavx512f -mavx512dq -mavx512vl -mfma
OTHERS := decoder passes chain word2vec
SANITIZED = g++ -std=c++20 -g -O1 -Wno-psabi -I$(CPP)
KINDS = $(SANITIZED) tests/native/kinds.cpp $(CPP)/kernels.cpp -o build/kinds
ATTENTION = $(SANITIZED) tests/native/attention.cpp $(CPP)/attention_decoder.cpp $(CPP)/kernels.cpp -o build/attention

NUMBERS := float bf16  # of the recurrent kernels; none: the others alone

sanitize:
	mkdir -p build
	for number in $(NUMBERS); do \
	  for flags in -fsanitize=thread -fsanitize=address,undefined '-fsanitize=address,undefined $(AVX512)'; do \
	    echo "$$number $$flags"; $(KINDS) -DNUMBER=$$number $$flags && build/kinds || exit 1; \
	    $(ATTENTION) -DNUMBER=$$number $$flags && build/attention || exit 1; \
	  done; \
	done
	$(SANITIZED) -fsanitize=address,undefined tests/native/others.cpp $(OTHERS:%=$(CPP)/%.cpp) -o build/others
	build/others

# Needs Debian's g++-aarch64-linux-gnu and qemu-user. The flags are those of CMakeLists.txt.
ARM := aarch64-linux-gnu
ARM_FLAGS := -std=c++20 -O3 -fno-math-errno -fno-trapping-math -ffp-contract=fast -Wno-psabi -I$(CPP)
ARM_OBJECTS := $(addprefix build/arm/,kernels_float.o kernels_bf16.o $(OTHERS:%=%.o))

build/arm/kernels_%.o: $(CPP)/kernels.cpp $(wildcard $(CPP)/*.h)
	mkdir -p $(@D)
	$(ARM)-g++ $(ARM_FLAGS) -DNUMBER=$* -c $< -o $@

build/arm/%.o: $(CPP)/%.cpp $(wildcard $(CPP)/*.h)
	mkdir -p $(@D)
	$(ARM)-g++ $(ARM_FLAGS) -c $< -o $@

arm: $(ARM_OBJECTS)
	for number in float bf16; do \
	  $(ARM)-g++ $(ARM_FLAGS) -static -DNUMBER=$$number tests/native/kinds.cpp build/arm/kernels_$$number.o \
	    -o build/arm/kinds && qemu-aarch64 build/arm/kinds || exit 1; \
	done
	$(ARM)-g++ $(ARM_FLAGS) -static tests/native/others.cpp $(OTHERS:%=build/arm/%.o) -o build/arm/others
	qemu-aarch64 build/arm/others
	@for object in $^; do \
	  count=$$($(ARM)-objdump -d $$object | grep -cE 'fml[as].*v[0-9]+\.(4s|2d)'); \
	  echo "$$object: $$count multiplications and additions of NEON vectors"; \
	  [ $$count -gt 0 ] || exit 1; \
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
	$(INSTALL) --editable .
	touch $@

# Of the installed package only the extra is added: nothing is compiled again.
$(VENV)/.installed-dev: $(VENV)/.installed
	$(INSTALL) 'unspool[dev]'
	touch $@

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
