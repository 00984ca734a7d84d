"""The planner's prompts."""

from pathlib import Path

from planner.prompts import Prompts

FOLDER = Path(__file__).parent
PROMPTS = Prompts(FOLDER)
