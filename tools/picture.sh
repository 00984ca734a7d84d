#!/bin/sh
# Make docs/report.png: the first screen of the report of the run of `planbook build` that the README shows.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
planbook build --env alfworld --split generated --start put --tasks-per-type 1 --verify generated:10 \
    --model recorded:alfworld-generated --out "$made/house" >/dev/null
planbook report "$made/house" --out "$made/house.html" >/dev/null
chromium --headless --no-sandbox --hide-scrollbars --window-size=1180,820 --virtual-time-budget=3000 \
    --screenshot="$made/screen.png" "file://$made/house.html" >/dev/null 2>&1
python -c "import sys; from PIL import Image; Image.open(sys.argv[1]).convert('RGB').quantize(64).save(sys.argv[2], optimize=True)" \
    "$made/screen.png" docs/report.png
ls -l docs/report.png
