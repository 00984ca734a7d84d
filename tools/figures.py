"""Store the figures of a command: `figures.py FILE.json COMMAND OUTPUT`.

OUTPUT is a file with the command's output, whose last line is JSON. FILE.json gets the figures, COMMAND, the date and a
description of the machine.
"""

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

STORED_FIELDS = "tasks solved mean_score mean_actions mean_error_steps unlock_score measures failures seconds".split()
ROW_FIELDS = ("name", "value", "unit", "ratio", "against", "goal", "met")


def main() -> None:
    """Write FILE.json."""
    target, command, output = sys.argv[1:]
    measured = json.loads(Path(output).read_text(encoding="utf-8").splitlines()[-1])
    rows = [{name: row[name] for name in ROW_FIELDS if row[name] not in (None, "")} for row in measured.get("rows", ())]
    stored = {
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}",
        "rows": rows,
        **{name: measured[name] for name in STORED_FIELDS if name in measured},
    }
    Path(target).parent.mkdir(exist_ok=True)
    Path(target).write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
