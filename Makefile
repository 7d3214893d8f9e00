# Two commands: `make app` and `make test`. CONTRIBUTING.md says when to run `make test-all`.
#
#   PYTHON=python3.12        the interpreter that makes the environment (3.11 or newer)
#   TORCH_INDEX=ADDRESS      take torch and torchvision from this package index, a CPU build for small machines say
#   PORT=8501                where the dashboard listens (localhost only)
#   UPGRADE=--upgrade        make lock: take the newest versions, or of one package: UPGRADE='-P duckdb'

PYTHON ?= python3
TORCH_INDEX ?=
UPGRADE ?=
PORT ?= 8501
BIN := .venv/bin
READY := .venv/.ready
EXTRAS := .venv/.extras
PIP := $(BIN)/python -m pip
LOCKED := install -q --no-deps --only-binary :all: --require-hashes
UV := build/uv/bin/uv
COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --only-binary :all: --generate-hashes \
	--no-annotate --custom-compile-command 'make lock'
OF_TORCH := torch torchvision cuda-bindings cuda-pathfinder cuda-toolkit triton nvidia-cublas nvidia-cuda-cccl nvidia-cuda-cupti \
	nvidia-cuda-nvrtc nvidia-cuda-runtime nvidia-cudnn-cu13 nvidia-cufft nvidia-cufile nvidia-cusolver \
	nvidia-cusparse nvidia-cusparselt-cu13 nvidia-nccl-cu13 nvidia-nvjitlink nvidia-nvshmem-cu13 nvidia-nvtx
PYTEST := OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/build/numba $(BIN)/python -m pytest -q -n 2 --dist worksteal
NOT_TORCH := $(foreach name,$(OF_TORCH),--no-emit-package $(name))

# with its bytecode kept, no process that a test begins compiles the project anew
unexport PYTHONDONTWRITEBYTECODE

.PHONY: app test test-all lint docs bench answers screenshots lock audit clean

app: $(READY)
	$(BIN)/platoscope app --demo --port $(PORT)

test: $(READY) $(EXTRAS) lint
	$(PYTEST)

# All but what needs a GPU or the network: shapes and figures checked everywhere, properties at full depth
test-all: $(READY) $(EXTRAS) lint
	PLATOSCOPE_TESTS=all $(PYTEST) -m 'not gpu and not network'

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(READY): pyproject.toml locks/torch.txt locks/app.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name one: make PYTHON=python3.12"; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "no virtual environment could be made; on Debian: apt-get install python3-venv"; exit 2; }
ifdef TORCH_INDEX
	$(PIP) install --no-deps --index-url $(TORCH_INDEX) $$(sed -nE 's/^(torch(vision)?==[^ ]+).*/\1/p' locks/torch.txt)
else
	$(PIP) $(LOCKED) -r locks/torch.txt
endif
	$(PIP) $(LOCKED) -r locks/app.txt
	$(PIP) install -q --no-deps --no-build-isolation -e .
	@touch $(READY)

$(EXTRAS): $(READY) locks/extras.txt
	$(PIP) $(LOCKED) -r locks/extras.txt
	@touch $(EXTRAS)

docs: $(READY)
	$(BIN)/python -m docs.reference

bench: $(READY)
	$(BIN)/python -m tests.benchmarks.all_pairs

# Makes again what data/demo.tar.xz holds and our values in docs/published.md, after a change of answers, weights or pages
answers: $(READY)
	rm -rf build/demo
	$(BIN)/python -m tests.demo.ship build/demo
	$(BIN)/python -m docs.published build/demo
	$(BIN)/python -m docs.reference

screenshots: $(READY)
	$(BIN)/python -m tests.browser.screenshots store build/screenshots

# Renews the locks; UPGRADE says whether to newer versions
lock: $(UV)
	cat locks/torch.txt locks/app.txt locks/extras.txt > build/all.txt
	$(COMPILE) $(UPGRADE) --all-extras pyproject.toml -o build/all.txt
	printf 'torch\ntorchvision\n' | $(COMPILE) -c build/all.txt - -o locks/torch.txt
	$(COMPILE) -c build/all.txt $(NOT_TORCH) --extra dev pyproject.toml -o locks/app.txt
	$(COMPILE) -c build/all.txt $(NOT_TORCH) --extra cluster pyproject.toml -o locks/extras.txt

# Asks a service on the network for known weaknesses of the locked versions
audit:
	test -x build/audit/bin/pip-audit || { $(PYTHON) -m venv build/audit && build/audit/bin/python -m pip install -q pip-audit; }
	build/audit/bin/pip-audit --require-hashes --disable-pip -r locks/torch.txt -r locks/app.txt -r locks/extras.txt

$(UV):
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install -q uv

clean:
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache
