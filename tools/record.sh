#!/bin/bash
# Record again the run that the first line of a recording names. Each new prompt is written to DIR and waits for an answer.
# usage: tools/record.sh NAME DIR      (for the recording manuals/recordings/NAME.jsonl)
# Recorded replies are reused. To start over, delete all lines but the first.
# ALFWorld's real games need ALFWORLD_DATA; web pages need Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || { sed -n 3p "$0" >&2; exit 2; }
file="manuals/recordings/$1.jsonl"
read -ra command <<< "$(sed -n '1s/.*"command": *"\([^"]*\)".*/\1/p' "$file")"
run="runs/recording-$1"
.venv/bin/planbook "${command[@]}" --model "recorded:$file+exchange:$2" --out "$run"
if [ "${command[0]}" = build ]; then
  .venv/bin/planbook formulate "$run"
  mkdir -p manuals/learned
  cp -r "$run/learned/." manuals/learned/
fi
