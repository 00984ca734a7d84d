#!/bin/sh
# Set up planbook in .venv from the lock files. `make` runs this: `setup.sh demo` installs the packages of `make demo` without
# compiling; `setup.sh all` adds every extra, the development tools, and the Debian packages that tests use.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
PIP="python -m pip install --disable-pip-version-check"

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

debian() {
    command -v apt-get >/dev/null || return 1
    echo "setup: installing from Debian: $*"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1 ||
        { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }
}

locked() { # LOCK_FILE PIP_OPTION...; shows pip's progress
    echo "setup: installing the $(grep -c == "$1") packages of $1 into .venv"
    {
        code=0
        $PIP --progress-bar off --use-pep517 --require-hashes -r "$@" || code=$?
        echo "pip ended with $code"
    } | {
        found=0 code=1
        while read -r line; do
            case $line in
                Collecting\ *) found=$((found + 1)); [ $((found % 30)) != 0 ] || echo "setup: $found packages fetched" ;;
                Building\ wheel*) echo "setup: compiling: $line" ;;
                Installing\ collected*) echo "setup: unpacking them" ;;
                pip\ ended\ with*) code=${line##* } ;;
            esac
        done
        exit "$code"
    }
}

if [ "$1" = all ]; then
    PATH=$PWD/.venv/bin:$PATH # textworld's planner is built from source with python and a C++ compiler
    if ! command -v c++ >/dev/null 2>&1; then
        debian g++ ||
            { echo "setup: textworld's planner is built from source: install g++ (apt-get install g++)" >&2; exit 3; }
    fi
    locked requirements.lock
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || debian postgresql ||
        echo "setup: no PostgreSQL: tests of runs in a database are left out; add it with: apt-get install postgresql"
    touch .venv/.ready
    exit 0
fi

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    { echo "setup: planbook needs Python 3.11 or newer; name one with: make PYTHON=python3.11 ..." >&2; exit 3; }
if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
    debian python3-venv ||
        { echo "setup: this Python cannot make a virtual environment; install python3-venv (apt-get install python3-venv)" >&2; exit 3; }
fi
[ -x .venv/bin/python ] || { echo "setup: making .venv with $("$PYTHON" --version)"; "$PYTHON" -m venv .venv; }
PATH=$PWD/.venv/bin:$PATH
locked demo.lock --no-deps # the file is complete, except for what alfworld and miniwob need besides their data
echo "setup: installing planbook itself"
$PIP -q --no-deps --no-build-isolation -e .
if ! { command -v chromium && command -v chromedriver; } >/dev/null 2>&1; then
    debian chromium chromium-driver ||
        echo "setup: no Chromium: MiniWoB++ is left out; add it with: apt-get install chromium chromium-driver"
fi
touch .venv/.demo
