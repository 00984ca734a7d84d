"""The prompts about what was learnt."""

from pathlib import Path

FOLDER = Path(__file__).parent
