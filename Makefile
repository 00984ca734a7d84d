# make demo: the main job, on what the packages bring.   make test: everything that is checked.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test bench lint lock clean

setup: .venv/.ready

demo: .venv/.ready
	$(BIN)/planbook demo

test: lint
	@tools/setup.sh tests
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: .venv/.ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: .venv/.ready
	$(BIN)/planbook bench sandbox
	$(BIN)/planbook bench stream
	$(BIN)/planbook bench envs
	$(BIN)/planbook bench report
	$(BIN)/planbook bench scale

.venv/.ready: pyproject.toml requirements.lock tools/setup.sh
	PYTHON="$(PYTHON)" tools/setup.sh

lock: .venv/.ready
	$(BIN)/python -m pip install -q uv
	$(BIN)/uv pip compile pyproject.toml --extra dev --extra bench --extra web --extra cluster --generate-hashes --universal \
		--python-version 3.11 --no-emit-index-url --no-header --no-annotate -o requirements.lock

clean:
	rm -rf .venv build dist
