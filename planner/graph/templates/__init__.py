"""How a node's question is put together."""

from pathlib import Path

FOLDER = Path(__file__).parent
