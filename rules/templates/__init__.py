"""The prompts of those who manage the rules."""

from pathlib import Path

FOLDER = Path(__file__).parent
