#!/bin/bash
# Makes a recording anew: every prompt of a building run is written into DIR as a file, and waits for its answer file.
# usage: tools/record.sh alfworld-generated|alfworld-train|miniwob-feedback DIR
# Answers that the recording in manuals/recordings holds already are not asked for again: delete the file to begin anew.
# The train games must be there (ALFWORLD_DATA); the pages need Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
case "$1" in
  alfworld-generated) what=(--env alfworld --split generated --tasks-per-type 1 --verify generated:10) ;;
  alfworld-train) what=(--env alfworld --split train --tasks-per-type 2 --verify generated:20) ;;
  miniwob-feedback) what=(--env miniwob --split feedback --tasks-per-type 1 --verify feedback:5) ;;
  *) sed -n 3p "$0" >&2; exit 2 ;;
esac
run="runs/recording-$1"
.venv/bin/planbook build "${what[@]}" --model "recorded:manuals/recordings/$1.jsonl+exchange:$2" --out "$run"
.venv/bin/planbook formulate "$run"
mkdir -p "manuals/learnt"
cp -r "$run/learnt/." manuals/learnt/
