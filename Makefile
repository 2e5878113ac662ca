# Two commands do everything: `make train` and `make test`. Each installs what is missing, builds, and runs.
SHELL := bash
.SHELLFLAGS := -o pipefail -c
BUILD := build
PROGRAM := $(BUILD)/plimsoll
CMAKE := $(firstword $(wildcard /usr/bin/cmake) cmake)
JOBS := $(shell nproc)
# End-to-end tests mostly wait for the programs they watch.
TEST_JOBS ?= $(shell expr 2 \* $$(nproc))
FUZZ_SECONDS ?= 300
# Compile the files of a room together: less than half the work when everything is compiled. OFF suits frequent edits.
BY_ROOM ?= ON
SOURCES = $(shell git ls-files '*.cpp' '*.hpp')
# What `make tidy` looks at: FILES="src/a.cpp src/b.cpp", or what changed since BASE.
BASE ?= HEAD~1
FILES ?= $(shell git diff --name-only --diff-filter=d $(BASE) -- 'src/*.cpp' 'tests/*.cpp')

.PHONY: help deps build all train test sanitize bench soak fuzz verdict-score format tidy install wheel mutants clean

help:
	@echo "make train    install what is missing, build, train --small on the embedded corpus"
	@echo "make test     install what is missing, build, run every test"
	@echo "make sanitize the same tests under the address, undefined-behaviour and thread sanitizers"
	@echo "make build    leave the program at $(PROGRAM)"
	@echo "make install  program, library, headers, CMake package and manual pages under PREFIX (/usr/local)"
	@echo "make wheel    the Python package with the program in it, as dist/plimsoll-*.whl"
	@echo "make bench    ours and PyTorch in alternating rounds; FLAGS=--quick for the short form"
	@echo "make soak     the long forms of the tests; NAMES=\"kills nano\" for some of them"
	@echo "make fuzz     every parser under libFuzzer for FUZZ_SECONDS ($(FUZZ_SECONDS)) each"
	@echo "make mutants  break the source in sixty places, one at a time, and name the test that notices; NAMES=\"guard 12\" for some"
	@echo "make verdict-score  the leak verdict on generated series and recorded programs, beside other rules"
	@echo "make format   clang-format on every C++ file"
	@echo "make tidy     clang-tidy on what changed since BASE ($(BASE)), or on FILES"
	@echo "make clean    remove what building left"

deps:
	@bash scripts/install-deps.sh

build: deps
	@$(CMAKE) --preset release -DPLIMSOLL_BY_ROOM=$(BY_ROOM) >/dev/null
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target plimsoll

train: build
	$(PROGRAM) train --small

# The program and everything that tests it, in one build: packages that come in between would have it begin again.
all: deps
	@bash scripts/install-deps.sh test
	@bash scripts/python-tools.sh
	@$(CMAKE) --preset release -DPLIMSOLL_BY_ROOM=$(BY_ROOM) >/dev/null
	@$(CMAKE) --build $(BUILD) -j $(JOBS)

# A failed test is not run again unless RETRIES says so; then the last lines name every test that needed it.
RETRIES ?= 0
test: all
	@RETRIES=$(RETRIES) bash scripts/run-tests.sh $(BUILD) -j $(TEST_JOBS)

# The whole suite under the address and undefined-behaviour sanitizers, then under the thread sanitizer.
sanitize: deps
	@bash scripts/install-deps.sh test
	@for preset in asan tsan; do \
	  $(CMAKE) --preset $$preset -DPLIMSOLL_BY_ROOM=$(BY_ROOM) >/dev/null && $(CMAKE) --build build-$$preset -j $(JOBS) && \
	  RETRIES=$(RETRIES) bash scripts/run-tests.sh build-$$preset -j $(JOBS) || exit 1; \
	done

install: build
	@$(CMAKE) --build $(BUILD) -j $(JOBS) --target manuals
	$(CMAKE) --install $(BUILD) --prefix $(or $(PREFIX),/usr/local)

# Built with tools of PyPI, then tried in an empty environment of every Python there is.
wheel: deps
	@bash scripts/install-deps.sh wheel
	@bash scripts/make-wheel.sh
	@python3 tests/e2e/test_wheel.py

bench: build
	@bash scripts/install-deps.sh bench
	python3 bench/run.py $(FLAGS)

# The long forms of the end-to-end tests: minutes, not seconds. NAMES="kills nano" for some of them.
soak: all
	python3 tests/soak/run.py $(PROGRAM) $(NAMES)

mutants: deps
	@bash scripts/install-deps.sh test
	python3 tests/mutants/run.py $(NAMES)

# A crash leaves its input in build-fuzz; the corpus folders of the tree are read, never written.
fuzz:
	@bash scripts/install-deps.sh fuzz
	@$(CMAKE) --preset fuzz -DPLIMSOLL_BY_ROOM=$(BY_ROOM) >/dev/null
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

# The verdict on many generated series and on recorded runs of real programs, beside other rules.
verdict-score: all
	$(BUILD)/tests/verdict_score 30
	xz -dc tests/verdict/recorded.jsonl.xz > $(BUILD)/recorded.jsonl && $(BUILD)/tests/verdict_score --recorded $(BUILD)/recorded.jsonl

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz build-mutants build-wheel bench/out dist
