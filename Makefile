# The commands of this project; `make help` lists them. The build itself is CMake's (CMakePresets.json).
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build
.NOTPARALLEL:
JOBS ?= $(shell nproc)

## make             build the release preset (build/release/plinth)
.PHONY: build
build: build/release/build.ninja
	@cmake --build --preset release -j $(JOBS)

## make run         install what is missing, build, forecast a real series and show the result
.PHONY: run
run: setup
	@$(MAKE) --no-print-directory build/release/build.ninja
	@cmake --build --preset release -j $(JOBS) --target plinth
	@tools/run_example build/release/plinth

## make test        install what is missing, build, run the smoke and ci tiers
.PHONY: test
test: setup
	@start=$$SECONDS; \
	$(MAKE) --no-print-directory build; \
	built=$$SECONDS; \
	status=0; ctest --preset release -j $(JOBS) || status=$$?; \
	echo "built in $$((built - start)) s, tested in $$((SECONDS - built)) s"; \
	exit $$status

## make smoke       build and run the smoke tier only (under a minute of tests)
.PHONY: smoke
smoke: build
	@ctest --preset smoke -j $(JOBS)

## make package     build the Debian package (build/package/plinth_VERSION_ARCH.deb)
.PHONY: package
package: build/release/build.ninja
	@cmake --build --preset release -j $(JOBS) --target plinth_manual
	@cpack --config build/release/CPackConfig.cmake -B build/package
	@rm -rf build/package/_CPack_Packages

## make check       build with every assertion and run the smoke and ci tiers on it
## make debug       build without optimisation and run the smoke tier
## make asan        AddressSanitizer and UndefinedBehaviorSanitizer: build, run the smoke tier
## make tsan        ThreadSanitizer: build, run what uses threads
.PHONY: check debug asan tsan
check debug asan: %: build/%/build.ninja
	@cmake --build --preset $@ -j $(JOBS)
	@ctest --preset $@ -j $(JOBS)

# Address space randomisation of newer kernels can lie where ThreadSanitizer keeps its shadow memory.
tsan: build/tsan/build.ninja
	@cmake --build --preset tsan -j $(JOBS)
	@unrandomised=; if setarch -R true 2>/dev/null; then unrandomised="setarch -R"; fi; \
	$$unrandomised ctest --preset tsan -j $(JOBS)

## make fuzz        build the fuzz targets and run each for FUZZ_SECONDS (60)
FUZZ_SECONDS ?= 60
.PHONY: fuzz
fuzz: build/fuzz/build.ninja
	@cmake --build --preset fuzz -j $(JOBS)
	@tools/run_fuzz build/fuzz $(FUZZ_SECONDS)

## make check-style layout (clang-format), clang-tidy, layers and documents
.PHONY: check-style
check-style: build
	@tools/check_style build/release

## make format      lay out every source with clang-format
.PHONY: format
format:
	@git ls-files '*.h' '*.cc' | xargs clang-format-14 -i

## make setup       install what is missing of tools/packages.txt
.PHONY: setup
setup:
	@tools/setup

## make clean       remove what was built (the peers of bench/peers stay)
.PHONY: clean
clean:
	@if [ -d build ]; then find build -mindepth 1 -maxdepth 1 ! -name peers -exec rm -rf {} +; fi

## make help        this list
.PHONY: help
help:
	@sed -n 's/^## //p' Makefile

# Ninja configures again by itself when a CMakeLists.txt changes; presets it does not know.
build/%/build.ninja: CMakePresets.json
	@cmake --preset $*
	@touch $@
.PRECIOUS: build/%/build.ninja
