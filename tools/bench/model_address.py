"""Direct models to a local server. This module imports no server, so that its memory is not measured."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def openai_at(port: int) -> Iterator[None]:
    """Send the requests of ``openai:`` models to a port of this machine until the block ends."""
    previous = {name: os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{port}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    try:
        yield
    finally:
        for name, value in previous.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
