# make demo: the main job, without keys and downloads.   make test: lint and the quick tests, side by side.
# make test-deep: the slower tests, all or one fifth of them (FIFTH=0 to 4), and the tests under other Pythons.
PYTHON ?= python3
BIN := .venv/bin
# One more than there are processors: some tests wait, for a clock, a browser or another process.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: setup demo test quick test-deep lint bench docs figures lock clean

setup: .venv/.ready

demo: .venv/.demo
	$(BIN)/planbook demo

test: .venv/.ready
	$(MAKE) --jobs 2 --no-print-directory lint quick

quick: .venv/.ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not deep"

test-deep: .venv/.ready
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m deep $(if $(FIFTH),--fifth $(FIFTH))
	tools/test_pythons.sh

lint: .venv/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: .venv/.ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site is in site/: open site/index.html"

figures: .venv/.ready
	tools/figures.sh

bench: .venv/.ready
	$(BIN)/planbook bench sandbox
	$(BIN)/planbook bench start
	$(BIN)/planbook bench stream
	$(BIN)/planbook bench envs
	$(BIN)/planbook bench report
	$(BIN)/planbook bench scale

.venv/.demo: pyproject.toml demo.lock tools/setup.sh
	PYTHON="$(PYTHON)" tools/setup.sh demo

.venv/.ready: .venv/.demo requirements.lock
	PYTHON="$(PYTHON)" tools/setup.sh all

LOCKED := --generate-hashes --universal --python-version 3.11 --no-emit-index-url --no-header --no-annotate
lock:
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile pyproject.toml --extra all --extra bench --extra dev --extra docs $(LOCKED) -o requirements.lock
	printf '%s\n' editables hatchling selenium websocket-client | $(BIN)/uv pip compile pyproject.toml - -c requirements.lock $(LOCKED) -o demo.lock
	awk '/^[^ ]/ { wanted = /^(alfworld|miniwob)==/ } wanted' requirements.lock >> demo.lock

clean:
	rm -rf .venv build dist site
