# Two commands for a newcomer: `make demo` and `make test`. Each makes .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One BLAS thread a test process: xdist already uses every core.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

# The tests that other versions of our dependencies have broken before.
LOWEST := tests/test_metrics.py tests/test_results_of_r.py tests/estimators/test_certify.py \
	tests/estimators/test_sparse_auc_classifier.py tests/app/test_method_registry.py \
	tests/app/reading/test_formats.py tests/app/cli/test_fit.py

.PHONY: demo quick shape check test test-reproduction reproduce test-fast test-lowest coverage lint typecheck format docs benchmarks fuzz dist clean

# A stamp per extra, so that a second run installs nothing.
$(VENV)/.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.stamp-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@ $(VENV)/.stamp

# The paper's experiments, which are a distribution of their own.
$(VENV)/.stamp-reproduction: reproduction/pyproject.toml $(VENV)/.stamp
	$(BIN)/python -m pip install --quiet --editable ./reproduction
	@touch $@

# In several processes; all that runs later finds the kernels.
$(VENV)/.kernels: | $(VENV)/.stamp
	@echo "Compiling kernels for this machine (a minute in all, once)"
	@$(BIN)/python compile_kernels.py > $(VENV)/kernels.log
	@touch $@

demo: $(VENV)/.kernels
	$(BIN)/sparseauc demo

# Kernels are compiled once, while the code is checked, and not by every test process for itself.
test: $(VENV)/.stamp-test
	@$(MAKE) --no-print-directory --jobs 2 $(VENV)/.kernels lint typecheck
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal

test-reproduction: $(VENV)/.stamp-test $(VENV)/.stamp-reproduction
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal reproduction

# The paper's experiments on all cores, in minutes; ARGUMENTS="all --preset paper" runs them in full.
reproduce: $(VENV)/.stamp-reproduction
	$(BIN)/sparseauc reproduce --jobs -1 $(ARGUMENTS)

# The heart in 20 seconds, kernels compiled: answers, exchanges, one estimator, one command.
quick: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -n $(CORES) -q -x -m "not slow" tests/test_frozen.py tests/solvers/test_exchange.py \
		tests/estimators/test_sparse_auc_classifier.py tests/app/cli/test_fit.py

# Figures of the sources: tokens, functions that a fit visits, names, options, pages.
shape: $(VENV)/.stamp-test
	$(BIN)/python tests/shape.py

# Before a commit: about two minutes on two cores, of which mypy keeps one busy at first.
check: $(VENV)/.stamp-test
	@$(MAKE) --no-print-directory --jobs 3 --output-sync=target lint typecheck test-fast

test-fast: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal -q -m "not slow"

# With the lowest versions that pyproject.toml allows, in an environment of its own.
$(VENV)-lowest/.stamp: pyproject.toml
	@test -x $(VENV)-lowest/bin/python || $(PYTHON) -m venv $(VENV)-lowest
	$(PYTHON) .ci/lowest_versions.py > $(VENV)-lowest/versions.txt
	$(VENV)-lowest/bin/python -m pip install --quiet --editable . --constraint $(VENV)-lowest/versions.txt \
		duckdb hypothesis polars pytest pytest-xdist
	@touch $@

test-lowest: $(VENV)-lowest/.stamp
	# Kernels are compiled in less time, for slower code.
	NUMBA_OPT=1 NUMBA_CACHE_DIR=$(VENV)-lowest/kernels $(VENV)-lowest/bin/python -m pytest -n $(CORES) --dist worksteal -q $(LOWEST)

coverage: $(VENV)/.stamp-test
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal -q --cov --cov-report=term --cov-report=html

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: $(VENV)/.stamp-test
	$(BIN)/mypy

format: $(VENV)/.stamp-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.stamp-docs $(VENV)/.stamp-reproduction
	rm -rf docs/generated
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

benchmarks: $(VENV)/.stamp-test
	$(BIN)/python benchmarks/run_all.py

# Damaged tables and model files for ten minutes; another SEED tries others.
fuzz: $(VENV)/.stamp-test
	$(BIN)/python tests/fuzz_files.py --seconds $(or $(SECONDS_OF_FUZZ),600) --seed $(or $(SEED),0)
	SPARSEAUC_EXAMPLES=$(or $(EXAMPLES),300) $(BIN)/python -m pytest -q tests/app/test_roads.py

# The wheel and the source archive, the wheel tried where nothing else is.
dist:
	rm -rf dist
	$(PYTHON) -m venv $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet build
	$(VENV)-dist/bin/python -m build
	$(PYTHON) -m venv --clear $(VENV)-dist
	$(VENV)-dist/bin/python -m pip install --quiet dist/*.whl
	cd dist && ../$(VENV)-dist/bin/sparseauc --version
	rm -rf $(VENV)-dist

clean:
	rm -rf $(VENV) $(VENV)-lowest $(VENV)-dist build dist htmlcov .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output docs/_build docs/generated docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
