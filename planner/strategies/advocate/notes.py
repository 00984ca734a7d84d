"""What plan code notes down, for later pieces of code, later rounds and the answer."""

from collections.abc import Sequence

from planbook.planner.episode import Episode
from planbook.planner.frames import Functions
from planbook.planner.types import Step

NOTE_DOWN = "note_down"
LONGEST_NOTE, MOST_NOTES = 1_000, 50


class Notes:
    """What plan code notes down. Where the world has no action for that, there is a function of its name."""

    def __init__(self) -> None:
        self.taken: list[str] = []

    def functions(self, episode: Episode) -> Functions:
        """What the frame of a round offers for it."""
        return {} if NOTE_DOWN in episode.world.offer.actions else {NOTE_DOWN: self.note_down}

    def note_down(self, text: str) -> str:
        """Keep a piece of information that will be needed later."""
        if not text.strip() or len(text) > LONGEST_NOTE:
            return f"Not noted: a note has 1 to {LONGEST_NOTE} characters."
        if len(self.taken) >= MOST_NOTES:
            return f"Not noted: there are {MOST_NOTES} notes already."
        if text not in self.taken:
            self.taken.append(text)
        return "Noted."

    def of(self, steps: Sequence[Step]) -> None:
        """Keep what was noted by actions of the world."""
        for step in steps:
            if step.action.name == NOTE_DOWN and step.observation.accepted and step.action.args:
                self.note_down(str(step.action.args[0])[:LONGEST_NOTE])
