"""A slow model server that gives the same answer to every request: `python -m tools.bench.slow_server SECONDS`.

SECONDS is the delay before each answer. The server prints its port, and ends when its standard input is closed.
"""

import sys
import time
from collections.abc import Sequence

from tools.bench.model_server import Handler, serve

ANSWER = "### Understanding\nNothing is known yet.\n### Mistakes\nNone\n### Rules\nNone\n### Plan\n1. Wait.\n" + (
    "### Code\n```python\nwaited = True\n```\n"
)
"""A reply whose plan runs but does nothing, so that every episode sends the maximum number of requests."""
PIECE = 8
"""Number of characters in a piece of the stream."""


class SlowHandler(Handler):
    """Waits before it answers."""

    model = "slow"
    seconds = 0.0

    def reply(self, request: bytes) -> None:
        """Wait, then stream the answer."""
        time.sleep(self.seconds)
        self.begin()
        for start in range(0, len(ANSWER), PIECE):
            self.send(ANSWER[start : start + PIECE])
        self.end()


def main(arguments: Sequence[str]) -> None:
    """Serve until standard input is closed."""
    SlowHandler.seconds = float(arguments[0])
    with serve(SlowHandler) as port:
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
