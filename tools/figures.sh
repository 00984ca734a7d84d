#!/bin/sh
# Measure the figures in docs/figures.md: the JSON at the end of each command's output becomes a file in docs/figures.
# `tools/figures.sh NAME ...` measures only the named ones. All of them take an hour on 2 idle cores, and need Chromium, the
# extra `bench`, and ALFWorld's games (ALFWORLD_DATA).
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wanted=" $* "

measure() { # NAME COMMAND
    name=$1
    shift
    case $wanted in "  " | *" $name "*) ;; *) return 0 ;; esac
    echo "figures: $name: planbook $*"
    runs=""
    [ "$1" = bench ] || runs="--out $folder/$name"
    # A run with a BROKEN episode ends with 1, and reports it in its JSON.
    # shellcheck disable=SC2086
    planbook "$@" $runs --json >"$folder/output" 2>"$folder/errors" || [ $? = 1 ] || { cat "$folder/errors" >&2; exit 1; }
    python tools/figures.py "docs/figures/$name.json" "planbook $*" "$folder/output"
}

for part in sandbox start stream envs report scale selector tools; do measure "bench-$part" bench $part; done
measure alfworld-valid_seen run --env alfworld --split valid_seen
measure alfworld-train run --env alfworld --split train --jobs 2
measure alfworld-generated run --env alfworld --split generated
measure alfworld-valid_seen-learned test --env alfworld --split valid_seen --model none
measure alfworld-train-learned test --env alfworld --split train --model none --jobs 2
measure miniwob run --env miniwob --seeds 135289,293089,620994,740719,133163
measure miniwob-feedback-learned test --env miniwob --split feedback --model none
measure textcraft-test run --env textcraft --split test
measure textcraft-dev run --env textcraft --split dev
measure minecraft run --env minecraft --split full --seeds 0-2
measure tabletop run --env tabletop --seeds 0-99
measure shopping run --env shopping --split full --jobs 2
measure shopping-naive run --planner naive --env shopping
measure crafter run --env crafter --seeds 0-19 --jobs 2
measure crafter-random run --planner random --env crafter --seeds 0-19 --actions 1000 --jobs 2
measure web run --env web --jobs 2
