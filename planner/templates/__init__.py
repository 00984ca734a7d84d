"""The planner's prompts."""

from pathlib import Path

from planbook.planner.prompts import Prompts

FOLDER = Path(__file__).parent
PROMPTS = Prompts(FOLDER)
"""The templates of the planner, by path."""
