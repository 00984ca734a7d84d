#!/bin/sh
# Make docs/report.png: the first screen of the report on the run of `planbook build` in the README.
set -eu
cd "$(dirname "$0")/.."
PATH=$PWD/.venv/bin:$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
planbook build --env alfworld --split generated --start put --tasks-per-type 1 --verify generated:10 \
    --model recorded:alfworld-generated --out "$folder/house" >/dev/null
planbook report "$folder/house" --out "$folder/house.html" >/dev/null
chromium --headless --no-sandbox --hide-scrollbars --window-size=1180,820 --virtual-time-budget=3000 \
    --screenshot="$folder/screen.png" "file://$folder/house.html" >/dev/null 2>&1
python -c "import sys; from PIL import Image; Image.open(sys.argv[1]).convert('RGB').quantize(64).save(sys.argv[2], optimize=True)" \
    "$folder/screen.png" docs/report.png
ls -l docs/report.png
