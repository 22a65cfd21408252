# Everything from a fresh clone, with only Python >= 3.11, make and git on the machine. `make` lists it.

PYTHON ?= python3
JOBS ?= auto
BUDGET ?= 0.02
ARGS ?=

VENV := .venv
STAMP := $(VENV)/.installed
# What `make train` alone needs, a fifth of the packages, until something needs all.
LEARNER := $(if $(wildcard $(STAMP))$(filter-out train,$(MAKECMDGOALS)),$(STAMP),$(VENV)/.learner)
PY := $(VENV)/bin/python
# The loops as machine code, and what they are made of; without `tools/` Numba compiles them.
NATIVE := $(if $(wildcard tools/native),tienlen_env/engine/backends/native/built/loops.json)
SIGNATURES := tools/native/signatures.txt
KERNELS := $(shell find tienlen_env agents $(wildcard extensions/exact extensions/bridges tools/native) -name '*.py') $(wildcard tools/native/calls.c $(SIGNATURES))
# The page of the table.
WEB := extensions/table/web
PAGE := extensions/table/tienlen_table/server/static

define HELP
Tiến lên / Thirteen: environment, agents, training

  make train      train a small policy (4 to 11 minutes), compare it with the baselines
  make test       run every test, on all cores
  make test-core  run those of the core: tienlen_env, agents, train
  make nightly    run the longer tests, the fuzzers and the examples of other libraries
  make mutation   change what decides, line by line, and see whether a test fails; it goes on where it ended
  make weekly     ten million changed inputs, and `make mutation`: hours; both go on where they ended
  make coverage   lines and branches that the tests reach, kernels in plain Python: 40 minutes
  make lowest     test with the lowest versions of pyproject.toml, without torch; the plain wheel, too
  make lint       ruff, mypy, import contracts, numbers on pages without a source; Prettier, ESLint where Node.js is
  make format     let ruff format and fix what it can
  make docs       build the documentation into site/; ARGS=serve shows it while you write
  make notebooks  run the notebooks with small budgets; BUDGET=1 for the figures of their texts
  make play       open the table in the browser; the first time it builds the page, for some minutes
  make web        build the page of the table (needs Node.js and lld); `make docs` and `make wheel` contain it then
  make wheel      build the wheel of this platform into dist/, with the page
  make wheels     build those of all platforms, and one for any
  make native     compile what changed of the engine and the agents; the targets that run them do it, too
  make signatures add to the list of what that compiles what the tests still had to compile
  make web-engine the games and their agents as WebAssembly, into build/web/ (needs LLVM's lld)
  make bench      measure speed
  make figures    measure the figures of README and docs again: hours; ARGS=--stale only what is stale
  make bench-gpu  measure what a GPU brings; the rows that need one wait where there is none
  make install    set up $(VENV) with everything and compile; the others do what they need of it
  make clean      remove caches and builds; runs/ and $(VENV) stay
  make distclean  the same and $(VENV)

  ARGS="..."      goes to the command: make train ARGS=--help, make test ARGS="-k rules"
  PYTHON=...      the interpreter that $(VENV) is made of (python3)
  JOBS=...        test processes (auto: one per core)
endef

.DEFAULT_GOAL := help
.PHONY: help install train test test-core nightly weekly mutation coverage lowest lint format docs notebooks bench bench-gpu figures native signatures web-engine web play wheel wheels clean distclean

help:
	$(info $(HELP))
	@:

install: $(STAMP) $(NATIVE)

# The stamp is written last, so an interrupted install is done again; a working venv is kept and updated.
# Byte code is written when a module is first imported: most modules of the large packages never are.
$(VENV)/.learner: EXTRAS := train
$(STAMP): EXTRAS := train,cluster,dev,docs
$(VENV)/.learner $(STAMP): pyproject.toml constraints.txt
	@if ! $(PY) -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	    command -v $(PYTHON) >/dev/null 2>&1 || \
	        { echo 'error: there is no $(PYTHON) here; name one: make PYTHON=/path/to/python3.11' >&2; exit 1; }; \
	    $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	        { echo "error: Python 3.11 or later is needed, $(PYTHON) is $$($(PYTHON) --version 2>&1);" \
	               'name another: make PYTHON=/path/to/python3.11' >&2; exit 1; }; \
	    $(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	        { echo 'error: $(PYTHON) cannot make virtual environments (no venv or ensurepip);' \
	               'on Debian and Ubuntu: apt install python3-venv' >&2; exit 1; }; \
	    echo 'Making $(VENV) ...'; \
	    $(PYTHON) -m venv --clear $(VENV); \
	fi
	$(PY) -m pip install --disable-pip-version-check --no-compile $(if $(wildcard tools/torch_index.py),$$($(PY) tools/torch_index.py)) -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

# Byte code is kept whatever the environment says: without it every process compiles anew what it imports, PyTorch for seconds.
unexport PYTHONDONTWRITEBYTECODE

# Two processes on two cores: a second layer of OpenMP threads only gets in their way.
train test test-core nightly docs notebooks: export OMP_NUM_THREADS ?= 1

# No machine code is built first: Numba compiles the loops that the run calls, an eighth of all, and keeps them.
train: $(LEARNER)
	$(PY) -m tienlen_train.ppo $(ARGS)

# The page is built first where its tools are, since tests open it; elsewhere pytest says in one line what it skips.
test: $(STAMP) $(NATIVE)
	@if command -v npm >/dev/null && command -v $(or $(WASM_LD),wasm-ld) >/dev/null; then \
	    if $(MAKE) --no-print-directory $(WEB)/node_modules/.package-lock.json; then $(MAKE) --no-print-directory web; \
	    else echo 'npm reaches no packages here: the page is not built, and its tests are skipped.' >&2; fi; fi
	$(PY) -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal $(ARGS)

# What a clone without extensions/, research/ and tools/ has, too.
test-core: $(STAMP) $(NATIVE)
	$(PY) -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal tests/tienlen_env tests/agents tests/train $(ARGS)

nightly: $(STAMP) $(NATIVE)
	$(PY) -m pytest -n $(JOBS) --maxprocesses 8 --dist worksteal -m nightly $(ARGS)

mutation: $(STAMP)
	$(PY) -m tools.mutation $(ARGS)

weekly: $(STAMP)
	$(PY) -m tests.fuzz.inputs
	$(PY) -m tools.mutation

# Compiled code is not seen by the tool: the lines of kernels are those of tests that run them in plain Python.
coverage: $(STAMP) $(NATIVE)
	$(PY) -m coverage erase
	-$(PY) -m coverage run -m pytest -q -n $(JOBS) --maxprocesses 8 --dist worksteal $(ARGS)
	-$(if $(ARGS),,$(PY) -m coverage run -m pytest -q -m nightly -k plain_python tests/agents/test_elsewhere.py)
	$(PY) -m coverage combine -q
	$(PY) -m coverage report --skip-covered
	$(PY) -m coverage json -q -o - | $(PY) -m tests.coverage_rooms

lowest: $(STAMP) $(NATIVE)
	$(PY) tests/lowest.py $(ARGS)
	$(if $(ARGS),,$(PY) tests/lowest.py --plain)

# The page's linters run where Node.js is.
PAGE_TOOLS := $(WEB)/node_modules/.package-lock.json
lint: $(STAMP) $(if $(and $(wildcard $(WEB)/package-lock.json),$(shell command -v npm 2>/dev/null)),$(PAGE_TOOLS))
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m tests.lint
	$(if $(wildcard tools/figures),$(PY) -m tools.figures --check)
	@if [ -e $(PAGE_TOOLS) ]; then cd $(WEB) && npm run --silent lint; \
	    elif [ -d $(WEB) ]; then echo 'Node.js is not here: the sources of the page are not checked.' >&2; fi

format: $(STAMP)
	@if [ -e $(PAGE_TOOLS) ]; then cd $(WEB) && npm run --silent format; fi
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

# Material prints a notice about its successor at every build.
docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs $(or $(ARGS),build --strict)

# The notebooks in git have no outputs: copies are run, and `make docs` shows them.
notebooks: $(STAMP) $(NATIVE)
	rm -rf build/notebooks && mkdir -p build && cp -R notebooks build/notebooks
	BUDGET=$(BUDGET) $(PY) -m pytest --nbmake --overwrite --nbmake-timeout=900 -n $(JOBS) --maxprocesses 2 build/notebooks $(ARGS)

bench: $(STAMP) $(NATIVE)
	$(PY) -m tienlen_bench.speed $(ARGS)

bench-gpu: $(STAMP) $(NATIVE)
	$(PY) -m tienlen_gpu.bench $(ARGS)

# Some rows are those of other libraries; examples and peers have environments of their own.
$(VENV)/.figures: $(STAMP)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[openspiel,data,jax]' \
	    && touch $@ || echo 'OpenSpiel, JAX or pyarrow cannot be installed here: the rows that need them fail.' >&2

figures: $(VENV)/.figures $(NATIVE)
	$(PY) -m tools.figures $(ARGS)

# Only what changed is compiled again. Without it Numba compiles each loop when it is called: see CONTRIBUTING.md.
ifneq ($(NATIVE),)
$(NATIVE): $(STAMP) $(KERNELS)
	@echo 'Compiling the loops for this processor: the first time this takes some minutes ...'
	@$(PY) -m tools.native.build --or-notice
endif

native: $(STAMP)
	$(PY) -m tools.native.build $(ARGS)

signatures: $(STAMP) $(NATIVE)
	cp $(SIGNATURES) build/signatures.txt
	$(PY) -m pytest -q -n $(JOBS) --maxprocesses 8 --record-signatures build/signatures.txt $(ARGS)
	LC_ALL=C sort -u build/signatures.txt -o $(SIGNATURES)

web-engine: $(STAMP)
	$(PY) -m tienlen_table.wasm --out build/web $(ARGS)

# The page: TypeScript by esbuild, the games and agents by Numba and LLVM. Each is built anew when a source is newer.
PAGE_SOURCES := $(wildcard $(WEB)/src/*) $(WEB)/build.mjs $(WEB)/package-lock.json $(wildcard extensions/table/tienlen_table/wasm/*.m*s) \
    extensions/table/tienlen_table/engine/engine.mjs
ENGINE_SOURCES := $(shell find tienlen_env agents $(wildcard extensions/table) \( -name static -o -name node_modules \) -prune -o \( -name '*.py' -o -name '*.mjs' -o \
    -name '*.mts' -o -name '*.safetensors' \) -print)

web: $(PAGE)/files.js

$(WEB)/node_modules/.package-lock.json: $(WEB)/package-lock.json
	@command -v npm >/dev/null 2>&1 || { echo 'error: the page is built with Node.js 20 or later and npm;' \
	    'on Debian and Ubuntu: apt install nodejs npm' >&2; exit 1; }
	cd $(WEB) && npm ci --no-audit --no-fund
	@touch $@

$(PAGE)/index.html: $(PAGE_SOURCES) $(WEB)/node_modules/.package-lock.json
	cd $(WEB) && node_modules/.bin/tsc && node build.mjs $(CURDIR)/$(PAGE)

# The engine and a wheel need the package's own dependencies and a builder, not the developer's two gigabytes.
SMALL := build/venv/.installed
BUILDER := $(if $(wildcard $(STAMP)),$(STAMP),$(SMALL))
BUILDER_PY := $(dir $(BUILDER))bin/python

$(SMALL): pyproject.toml constraints.txt
	$(PYTHON) -m venv --clear $(dir $@)
	$(dir $@)bin/python -m pip install --disable-pip-version-check --no-compile -c constraints.txt -e '.[jit]' build hatchling ziglang
	@touch $@

$(PAGE)/engine/index.json: $(ENGINE_SOURCES) | $(BUILDER)
	@echo 'Compiling the games and agents to WebAssembly: this takes some minutes ...'
	$(BUILDER_PY) -m tienlen_table.wasm --out $(PAGE)/engine

$(PAGE)/files.js: $(PAGE)/index.html $(PAGE)/engine/index.json extensions/table/tienlen_table/packing.py
	$(BUILDER_PY) -m tienlen_table.packing $(PAGE)

play: $(STAMP) $(NATIVE)
	@$(MAKE) --no-print-directory web
	$(PY) -m tienlen_table.server $(ARGS)

# A wheel for one platform has the loops as machine code; that for any platform needs the extra `jit`.
PLATFORMS := linux-x86_64 linux-aarch64 darwin-aarch64 darwin-x86_64 win32-x86_64
PLATFORM := from tienlen_env.engine.backends import native; print(native.this_platform())
WHEEL := $(BUILDER_PY) -m build --wheel --no-isolation --outdir dist

wheel: $(BUILDER) web
	@$(MAKE) --no-print-directory wheel-$$($(BUILDER_PY) -c "$(PLATFORM)")

wheels: $(BUILDER) web $(addprefix wheel-,$(PLATFORMS))
	$(WHEEL)

wheel-%: $(BUILDER) web
	$(BUILDER_PY) -m tools.native.build --target $* --out build/native/$*
	TIENLEN_NATIVE_FOLDER=build/native/$* $(WHEEL)

clean:
	rm -rf build dist site $(WEB)/node_modules $(PAGE) .hypothesis .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find . -name $(VENV) -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf $(VENV)
