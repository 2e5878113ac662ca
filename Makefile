# Two commands do everything: `make train` and `make test`. Each installs what is missing, builds, and runs.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
BUILD := build
PROGRAM := $(BUILD)/plimsoll
CMAKE := $(firstword $(wildcard /usr/bin/cmake) cmake)
CTEST := $(firstword $(wildcard /usr/bin/ctest) ctest)
JOBS := $(shell nproc)
FUZZ_SECONDS ?= 300
SOURCES = $(shell git ls-files '*.cpp' '*.hpp')
# What `make tidy` looks at: FILES="src/a.cpp src/b.cpp", or what changed since BASE.
BASE ?= HEAD~1
FILES ?= $(shell git diff --name-only --diff-filter=d $(BASE) -- 'src/*.cpp' 'tests/*.cpp')

.PHONY: help deps build all train test bench soak fuzz verdict-score format tidy install wheel clean

help:
	@echo "make train    install what is missing, build, train --small on the embedded corpus"
	@echo "make test     install what is missing, build, run every test"
	@echo "make build    leave the program at $(PROGRAM)"
	@echo "make install  program, library, headers, CMake package and manual page under PREFIX (/usr/local)"
	@echo "make wheel    the Python package with the program in it, as dist/plimsoll-*.whl"
	@echo "make bench    ours and PyTorch in alternating rounds; FLAGS=--quick for the short form"
	@echo "make soak     the long forms of the tests; NAMES=\"kills nano\" for some of them"
	@echo "make fuzz     every parser under libFuzzer for FUZZ_SECONDS ($(FUZZ_SECONDS)) each"
	@echo "make verdict-score  the leak verdict on generated series, beside other rules"
	@echo "make format   clang-format on every C++ file"
	@echo "make tidy     clang-tidy on what changed since BASE ($(BASE)), or on FILES"
	@echo "make clean    remove what building left"

deps:
	@bash scripts/install-deps.sh

build: deps
	@$(CMAKE) --preset release >/dev/null
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target plimsoll

train: build
	$(PROGRAM) train --small

# The program and everything that tests it.
all: build
	@bash scripts/install-deps.sh test
	@$(CMAKE) --build $(BUILD) -j $(JOBS)

# Programs watched from outside depend on what else the machine does: a test that fails is run once more, and said so.
test: all
	cd $(BUILD) && $(CTEST) --output-on-failure --repeat until-pass:2 -j $(JOBS)

install: build
	$(CMAKE) --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

# Built with tools of PyPI, then tried in an empty environment of every Python there is.
wheel: deps
	@bash scripts/install-deps.sh wheel
	@bash scripts/make-wheel.sh
	@python3 tests/e2e/test_wheel.py

bench: build
	python3 bench/run.py $(FLAGS)

# The long forms of the end-to-end tests: minutes, not seconds. NAMES="kills nano" for some of them.
soak: build
	python3 tests/soak/run.py $(PROGRAM) $(NAMES)

# A crash leaves its input in build-fuzz; the corpus folders of the tree are read, never written.
fuzz:
	@bash scripts/install-deps.sh fuzz
	@$(CMAKE) --preset fuzz >/dev/null
	@targets=$$(basename -s .cpp tests/fuzz/*_fuzz.cpp) && $(CMAKE) --build build-fuzz -j $(JOBS) --target $$targets && \
	for target in $$targets; do \
	  found=build-fuzz/found/$$target; seeds=tests/fuzz/corpus/$${target%_fuzz}; mkdir -p $$found; \
	  [ -d $$seeds ] || seeds=; \
	  echo "== $$target, $(FUZZ_SECONDS) s"; \
	  build-fuzz/fuzz/$$target -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build-fuzz/$$target- \
	    -print_final_stats=1 $$found $$seeds 2>&1 | tail -n 12 || exit 1; \
	done

format:
	@bash scripts/install-deps.sh format
	clang-format -i $(SOURCES)

tidy: all
	@bash scripts/install-deps.sh tidy
	@[ -z "$(FILES)" ] && echo "tidy: nothing changed since $(BASE)" || clang-tidy -p $(BUILD) --quiet $(FILES)

# The verdict on many generated series, beside other rules.
verdict-score: all
	$(BUILD)/tests/verdict_score 30

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz build-wheel bench/out dist
