# Python 3.11 or newer and git are all it takes: each target makes its own environment in .venv.

PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1

.PHONY: demo test browser lint lowest wheel bench attack mutants device docs clean

demo: .venv/installed-test
	$(BIN)/python examples/demo.py

test: .venv/installed-test browser
	$(BIN)/python -m pytest -n $(WORKERS)

# Pages are tested in a real browser. Debian's is fetched where that takes root no more than a moment; where
# there is none those tests skip and say so.
APT := DEBIAN_FRONTEND=noninteractive timeout 75 apt-get -qq -o Acquire::Retries=0 -o Acquire::http::Timeout=10
browser:
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get && { $(APT) update || true; } && \
	    $(APT) install -y --no-install-recommends --download-only chromium && \
	    $(APT) install -y --no-install-recommends chromium; } </dev/null >/dev/null 2>&1 || true

# Types are checked against what the tests install too.
lint: .venv/installed-test .venv/installed-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports

# A short test with the oldest versions that pyproject.toml allows; where no index answers it says so and passes.
lowest: $(BIN)/python
	$(BIN)/python tools/lowest.py

# The sdist and the wheel in dist/, and the wheel used in clean environments of the oldest and the newest Python.
wheel: $(BIN)/python
	$(BIN)/python tools/wheel.py

# The kernel against exact arithmetic: 100,000 honest fits, forged points and forged files; `ATTACK="--seed 7"`.
attack: .venv/installed-test
	$(BIN)/python tests/exact/attack.py --cases 100000 --workers $(WORKERS) $(ATTACK)

# Every change of a line of the kernel must be noticed by a test, or is listed with the reason why it cannot be.
mutants: .venv/installed-test
	$(BIN)/python tools/mutants.py -n $(WORKERS) $(MUTANTS)

# The rivals come in an environment of their own: some of them hold NumPy back.
bench: .venv-bench/installed
	.venv-bench/bin/python -m benchmarks.run $(BENCH)

# On a machine with a device, by the Python that has torch for it: the contracts of rows there, and the benchmark.
device:
	PYTHONPATH=src:. $(PYTHON) -m pytest -q tests/device
	PYTHONPATH=src:. $(PYTHON) -m benchmarks.device $(DEVICE)

# The site is in docs/_build/html. Warnings are errors; the examples on its pages are run.
docs: .venv/installed-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -q -b doctest -d docs/_build/doctrees docs docs/_build/doctest

clean:
	rm -rf docs/_build docs/gallery .venv .venv-bench .venv-lowest .venv-wheel dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dualgap needs Python 3.11 or newer; say which: make PYTHON=python3.12 demo" >&2; exit 1; }
	$(PYTHON) -m venv .venv

# The stamps are renewed when pyproject.toml changes, and only then.
.venv/installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

.venv-bench/installed: pyproject.toml | $(BIN)/python
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@
