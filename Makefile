# Two commands for a newcomer: `make demo` and `make test`. Each makes .venv on first use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# One BLAS thread a test process: xdist already uses every core.
export OPENBLAS_NUM_THREADS ?= 1
export OMP_NUM_THREADS ?= 1

.PHONY: demo test lint typecheck format docs benchmarks fuzz clean

# A stamp per extra, so that a second run installs nothing.
$(VENV)/.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.stamp-%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	@touch $@

demo: $(VENV)/.stamp
	$(BIN)/sparseauc demo

test: $(VENV)/.stamp-test lint typecheck
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal

lint: $(VENV)/.stamp-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

typecheck: $(VENV)/.stamp-test
	$(BIN)/mypy

format: $(VENV)/.stamp-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.stamp-docs
	rm -rf docs/generated
	$(BIN)/sphinx-build -q -W --keep-going docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

benchmarks: $(VENV)/.stamp-test
	$(BIN)/python benchmarks/run_all.py

# Damaged tables and model files for ten minutes; another SEED tries others.
fuzz: $(VENV)/.stamp-test
	$(BIN)/python tests/fuzz_files.py --seconds 600 --seed $(or $(SEED),0)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output docs/_build docs/generated docs/gallery
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
