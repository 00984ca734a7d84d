"""A model server that takes its time: one answer to every question, after so many seconds. Run as a module.

It serves on a free port of this machine, which it prints first, and ends with its standard input.
"""

import sys
import time
from collections.abc import Sequence

from tools.bench.model_server import Handler, served

ANSWER = "### Understanding\nNothing is known yet.\n### Mistakes\nNone\n### Rules\nNone\n### Plan\n1. Wait.\n" + (
    "### Code\n```python\nwaited = True\n```\n"
)
"""A plan that runs and does nothing: every episode asks as often as it may."""
PIECE = 8
"""Characters in one piece of the stream."""


class SlowHandler(Handler):
    """Waits before it answers."""

    model = "slow"
    seconds = 0.0

    def reply(self, question: bytes) -> None:
        """Wait, then stream the answer."""
        time.sleep(self.seconds)
        self.begin()
        for start in range(0, len(ANSWER), PIECE):
            self.send(ANSWER[start : start + PIECE])
        self.end()


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input is closed."""
    SlowHandler.seconds = float(arguments[0])
    with served(SlowHandler) as port:
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
