"""What the shipped recordings of single runs come to, by name: solved, tasks, and calls of models."""

from typing import NamedTuple


class Came(NamedTuple):
    """The result of a run."""

    solved: int
    tasks: int
    calls: int


EPISODES = {
    "adapt-alfworld": Came(3, 3, 3),
    "adapt-alfworld-stepwise": Came(1, 1, 9),
    "adapt-shopping": Came(3, 3, 3),
    "adapt-shopping-stepwise": Came(1, 1, 5),
    "adapt-textcraft": Came(6, 6, 6),
    "adapt-textcraft-stepwise": Came(2, 3, 25),
    "agentkit-alfworld": Came(2, 2, 6),
    "agentkit-crafter": Came(0, 1, 67),
    "agentkit-shopping": Came(1, 1, 29),
    "chain-of-thought-graph-crafter": Came(0, 1, 7),
    "chain-of-thought-minecraft": Came(3, 3, 3),
    "code-as-policies-minecraft": Came(4, 4, 4),
    "dep-minecraft": Came(2, 2, 2),
    "deps-alfworld": Came(2, 2, 35),
    "deps-minecraft": Came(8, 8, 8),
    "deps-minecraft-chances": Came(2, 4, 28),
    "deps-tabletop": Came(5, 5, 5),
    "devils-advocate-alfworld": Came(1, 1, 24),
    "devils-advocate-minecraft-chances": Came(2, 2, 38),
    "inner-monologue-minecraft": Came(2, 2, 5),
    "lats-textcraft": Came(1, 1, 24),
    "paper-dep-minecraft": Came(6, 12, 88),
    "paper-deps-minecraft": Came(6, 12, 88),
    "paper-react-textcraft": Came(12, 12, 186),
    "paper-zero-shot-replan-minecraft": Came(6, 12, 50),
    "plan-act-textcraft": Came(2, 2, 36),
    "plan-and-execute-textcraft": Came(2, 2, 13),
    "progprompt-minecraft": Came(4, 4, 4),
    "react-shopping": Came(3, 3, 3),
    "react-textcraft": Came(2, 2, 2),
    "reflexion-textcraft": Came(0, 1, 7),
    "spring-crafter": Came(0, 1, 18),
    "try-again-textcraft": Came(0, 1, 4),
    "zero-shot-minecraft": Came(4, 4, 4),
    "zero-shot-replan-minecraft": Came(4, 4, 4),
}

ON_PAGES = {
    "devils-advocate-web": Came(2, 2, 30),
    "lats-web": Came(1, 1, 15),
    "paper-devils-advocate-web": Came(4, 4, 66),
    "paper-plan-act-web": Came(4, 4, 48),
    "plan-act-web": Came(2, 2, 22),
}
"""Played on pages of a browser: another version or other fonts show them otherwise, and then the prompts are others."""
