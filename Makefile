# `make help` lists the targets. Everything is installed into .venv/ and built below build/; a second run reuses both.
#   PRESET=dev make test    another CMake preset than release (see CMakePresets.json)
#   PYTHON=python3.12       the Python that .venv is made from        JOBS=4    parallel compilers and tests
#   FUZZ_SECONDS=120        how long `make fuzz` runs each target
SHELL := bash
.SHELLFLAGS := -euc
.ONESHELL:
.DELETE_ON_ERROR:
.NOTPARALLEL: # pip must not run twice at once; the tools below bring their own parallelism
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PRESET ?= release
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 120
BUILD := build/$(PRESET)
VENV := .venv
STAMPS := $(VENV)/.stamps
PY := $(VENV)/bin/python
CONFIGURE = cmake --preset $* --log-level=WARNING -DPython_EXECUTABLE=$(CURDIR)/$(PY)
PIP_INSTALL := tools/bootstrap.sh packages $(VENV)
CXX_FILES = $$(find cpp tests/cpp -name '*.cpp' -o -name '*.hpp' -o -name '*.h')
PY_FOLDERS = $(wildcard python tests tools benchmarks examples)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export CTEST_PARALLEL_LEVEL := $(JOBS)

.PHONY: help
help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r name text; do
	    printf '  %-12s %s\n' "$$name" "$$text"
	done

# ---- Set-up: each stamp stands for one step that is done.

$(STAMPS)/venv:
	@tools/bootstrap.sh system
	tools/bootstrap.sh venv $(VENV)
	mkdir -p $(STAMPS)
	touch $@

# Boost's wheel is used for its headers only; apart from site-packages its start-up hook cannot slow every Python.
$(STAMPS)/boost: $(STAMPS)/venv
	@echo "Fetching Boost"
	$(PIP_INSTALL) --no-deps --upgrade --target $(VENV)/build-deps 'cmeel-boost>=1.90'
	touch $@

# The package is installed as a link to python/, with its command asio-infer; $(link_module) adds the compiled part.
$(STAMPS)/package: pyproject.toml $(STAMPS)/boost
	@echo "Installing asio_infer into $(VENV)"
	$(PIP_INSTALL) --group build
	$(PIP_INSTALL) --no-build-isolation -e '.[cpu]' -C editable.mode=inplace -C wheel.cmake=false
	touch $@

# One stamp for each dependency group of pyproject.toml.
$(STAMPS)/group-%: pyproject.toml $(STAMPS)/venv
	@echo "Installing what $* needs into $(VENV)"
	$(PIP_INSTALL) --group $*
	touch $@

TEST_DEPS := $(STAMPS)/package $(STAMPS)/group-test $(STAMPS)/group-kserve

# ---- Build

build/%/build.ninja: CMakePresets.json $(STAMPS)/package
	@$(CONFIGURE)
	touch $@

# As above, but once the test packages are there: the tests' CMake file looks for some of them.
build/%/.test-ready: CMakePresets.json $(TEST_DEPS)
	@$(CONFIGURE)
	touch $@ build/$*/build.ninja

# .venv runs the module of the tree that was built last.
define link_module
rm -f python/asio_infer/_core*.so
ln -sr $(BUILD)/module/_core*.so python/asio_infer/
endef

.PHONY: build
build: $(BUILD)/.test-ready ## Build everything, the Python module in .venv included
	@cmake --build $(BUILD)
	$(link_module)

.PHONY: demo
demo: $(STAMPS)/group-demo $(BUILD)/build.ninja ## Serve a real model, send it real files over HTTP, compare
	@cmake --build $(BUILD) --target _core
	$(link_module)
	$(PY) examples/file_types.py

# ---- Tests

.PHONY: test test-cpp test-python
test: build ## Every test, C++ and Python
	@failed=0
	ctest --test-dir $(BUILD) --output-on-failure || failed=1
	$(PY) -m pytest || failed=1
	exit $$failed

test-cpp: build ## The C++ tests (ARGS='-R name' selects)
	@ctest --test-dir $(BUILD) --output-on-failure $(ARGS)

test-python: build ## The Python tests (ARGS='-k name' selects)
	@$(PY) -m pytest $(ARGS)

.PHONY: asan tsan
asan: build/asan/.test-ready ## The C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --build build/asan
	ctest --test-dir build/asan --output-on-failure $(ARGS)

# ThreadSanitizer's older versions do not start where the kernel spreads addresses widely: ask it not to.
tsan: build/tsan/.test-ready ## The C++ tests under ThreadSanitizer
	@cmake --build build/tsan
	$$(setarch -R true 2>/dev/null && echo setarch -R) ctest --test-dir build/tsan --output-on-failure $(ARGS)

# The seeds alone run as ordinary tests, in every build (ctest's fuzz/...).
build/fuzz/.fuzz-ready: CMakePresets.json $(STAMPS)/boost
	@cxx=$$(tools/bootstrap.sh fuzz)
	cmake --preset fuzz --log-level=WARNING -DPython_EXECUTABLE=$(CURDIR)/$(PY) -DCMAKE_CXX_COMPILER="$$cxx"
	touch $@

.PHONY: fuzz
fuzz: build/fuzz/.fuzz-ready ## New inputs for what reads hostile bytes, with libFuzzer (ARGS='infer_json' selects)
	@cmake --build build/fuzz --target fuzz_targets
	$(PY) tools/fuzz.py build/fuzz $(ARGS) --seconds $(FUZZ_SECONDS) --jobs $(JOBS)

.PHONY: coverage
coverage: BUILD := build/coverage
coverage: build/coverage/.test-ready $(STAMPS)/group-coverage ## Lines that the tests execute, C++ and Python
	@cmake --build $(BUILD)
	trap 'rm -f python/asio_infer/_core*.so' EXIT # `make build` links the usual module again
	$(link_module)
	find $(BUILD) -name '*.gcda' -delete
	ctest --test-dir $(BUILD) --output-on-failure
	$(PY) -m coverage run -m pytest
	mkdir -p $(BUILD)/html
	$(VENV)/bin/gcovr --root . --filter cpp/ $(BUILD)/cpp -j $(JOBS) \
	    --exclude-throw-branches --txt - --html-details $(BUILD)/html/cpp.html
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage html --quiet -d $(BUILD)/html/python
	$(PY) -m coverage report
	echo "Line by line: $(BUILD)/html"

.PHONY: soak stress
soak: build ## Long runs: memory, descriptors and latency over time
	@$(PY) -m pytest -m soak --timeout 3600 $(ARGS)

stress: build ## Heavy load for some minutes: many connections, overload, leaving and slow clients
	@tools/bootstrap.sh stress
	rm -f build/stress.json
	ASIO_INFER_STRESS_SECONDS=10 ctest --test-dir $(BUILD) --output-on-failure -R integration/test_load
	$(PY) -m pytest -m stress --timeout 3600 --capture=no $(ARGS)

.PHONY: bench
bench: build $(STAMPS)/group-bench ## CPU per request, throughput and latency
	@$(PY) benchmarks/run.py $(ARGS)

# ---- Code

.PHONY: lint format tidy
lint: $(STAMPS)/group-lint $(TEST_DEPS) ## Formatting, ruff, mypy
	@$(VENV)/bin/clang-format --dry-run -Werror $(CXX_FILES)
	$(VENV)/bin/ruff check $(PY_FOLDERS)
	$(VENV)/bin/ruff format --check $(PY_FOLDERS)
	$(VENV)/bin/mypy

format: $(STAMPS)/group-lint ## Format C++ and Python
	@$(VENV)/bin/clang-format -i $(CXX_FILES)
	$(VENV)/bin/ruff check --fix-only --quiet $(PY_FOLDERS)
	$(VENV)/bin/ruff format $(PY_FOLDERS)

tidy: $(STAMPS)/group-tidy build/dev/build.ninja ## clang-tidy, slow (FILES='cpp/src/net/x.cpp' selects)
	@printf '%s\n' $(or $(FILES),$$(find cpp/src cpp/bindings -name '*.cpp')) \
	    | xargs -P $(JOBS) -n 1 $(VENV)/bin/clang-tidy -p build/dev --quiet

# ---- Packages

.PHONY: sdist wheel
sdist: $(STAMPS)/package ## The source distribution (dist/)
	@$(PY) -c "import scikit_build_core.build as b; print('dist/' + b.build_sdist('dist'))"

wheel: sdist ## The wheel, built from the source distribution in isolation (dist/)
	@$(VENV)/bin/pip wheel -qq --no-deps -w dist "$$(ls -t dist/*.tar.gz | head -1)"
	ls -l dist/*.whl

.PHONY: clean
clean: ## Remove what was built (.venv stays)
	@rm -rf build dist python/asio_infer/_core*.so
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
