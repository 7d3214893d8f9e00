# Two commands: `make app` and `make test`. Everything else is a part of them.
#
#   PYTHON=python3.12        the interpreter that makes the environment (3.11 or newer)
#   TORCH_INDEX=ADDRESS      take torch and torchvision from this package index, a CPU build for small machines say
#   PORT=8501                where the dashboard listens (localhost only)

PYTHON ?= python3
TORCH_INDEX ?=
PORT ?= 8501
BIN := .venv/bin
READY := .venv/.ready
EXTRAS := .venv/.extras

.PHONY: app test lint docs bench screenshots clean

app: $(READY)
	$(BIN)/platoscope app --demo --port $(PORT)

test: $(READY) $(EXTRAS) lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 4 --dist loadfile --no-loadscope-reorder

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "no virtual environment could be made; on Debian: apt-get install python3-venv"; exit 2; }
	$(if $(TORCH_INDEX),$(BIN)/python -m pip install --no-deps -c constraints.txt --index-url $(TORCH_INDEX) torch torchvision)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[dev]'
	@touch $(READY)

$(EXTRAS): $(READY)
	$(BIN)/python -m pip install -q -c constraints.txt -e '.[cluster,translation]'
	@touch $(EXTRAS)

docs: $(READY)
	$(BIN)/python -m docs.reference

bench: $(READY)
	$(BIN)/python -m tests.benchmarks.all_pairs

screenshots: $(READY)
	$(BIN)/python -m tests.browser.screenshots store build/screenshots

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache
