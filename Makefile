# Two commands do everything: `make train` and `make test`. Each installs what is missing, builds, and runs.
BUILD := build
PROGRAM := $(BUILD)/plimsoll
CMAKE := $(firstword $(wildcard /usr/bin/cmake) cmake)
JOBS := $(shell nproc)

.PHONY: help build train test deps bench soak fuzz verdict-score format tidy clean

help:
	@echo "make train   install what is missing, build, train --small on the embedded corpus"
	@echo "make test    install what is missing, build, run every test"
	@echo "make build   leave the program at $(PROGRAM)"
	@echo "make bench | soak | fuzz | verdict-score | format | tidy | clean"

deps:
	@bash scripts/install-deps.sh

build: deps
	@$(CMAKE) --preset release >/dev/null
	@$(CMAKE) --build $(BUILD) -j $(JOBS)

train: build
	$(PROGRAM) train --small

test: build
	cd $(BUILD) && ctest --output-on-failure -j $(JOBS)

# Ours and PyTorch in alternating rounds; FLAGS=--quick for the short form.
bench: build
	python3 bench/run.py $(FLAGS)

# The long forms of the end-to-end tests: minutes, not seconds. NAMES="kills nano" for some of them.
soak: build
	python3 tests/soak/run.py $(PROGRAM) $(NAMES)

clean:
	rm -rf build build-debug build-asan build-tsan build-fuzz bench/out
