"""A slow model server: it gives the same answer to every request, after a delay in seconds. Run as a module.

It prints the free port on which it serves, and ends when its standard input closes.
"""

import sys
import time
from collections.abc import Sequence

from tools.bench.model_server import Handler, served

ANSWER = "### Understanding\nNothing is known yet.\n### Mistakes\nNone\n### Rules\nNone\n### Plan\n1. Wait.\n" + (
    "### Code\n```python\nwaited = True\n```\n"
)
"""A reply whose plan runs and does nothing, so that every episode sends as many requests as it may."""
PIECE = 8
"""Characters in a piece of the stream."""


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
    with served(SlowHandler) as port:
        print(port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
