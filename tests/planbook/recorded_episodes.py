"""Maps the name of each shipped recording of a run to its results."""

from typing import NamedTuple


class Result(NamedTuple):
    """The numbers of solved tasks, tasks, and model calls of a run."""

    solved: int
    tasks: int
    calls: int


EPISODES = {
    "adapt-alfworld": Result(3, 3, 3),
    "adapt-alfworld-stepwise": Result(1, 1, 9),
    "adapt-shopping": Result(3, 3, 3),
    "adapt-shopping-stepwise": Result(1, 1, 5),
    "adapt-textcraft": Result(6, 6, 6),
    "adapt-textcraft-stepwise": Result(2, 3, 25),
    "agentkit-alfworld": Result(2, 2, 6),
    "agentkit-crafter": Result(0, 1, 67),
    "agentkit-shopping": Result(1, 1, 29),
    "chain-of-thought-graph-crafter": Result(0, 1, 7),
    "chain-of-thought-minecraft": Result(3, 3, 3),
    "code-as-policies-minecraft": Result(4, 4, 4),
    "dep-minecraft": Result(2, 2, 2),
    "deps-alfworld": Result(2, 2, 35),
    "deps-minecraft": Result(8, 8, 8),
    "deps-minecraft-chances": Result(2, 4, 28),
    "deps-tabletop": Result(5, 5, 5),
    "devils-advocate-alfworld": Result(1, 1, 24),
    "devils-advocate-minecraft-chances": Result(2, 2, 38),
    "inner-monologue-minecraft": Result(2, 2, 5),
    "lats-textcraft": Result(1, 1, 24),
    "paper-dep-minecraft": Result(6, 12, 88),
    "paper-deps-minecraft": Result(6, 12, 88),
    "paper-react-textcraft": Result(12, 12, 186),
    "paper-zero-shot-replan-minecraft": Result(6, 12, 50),
    "plan-act-textcraft": Result(2, 2, 36),
    "plan-and-execute-textcraft": Result(2, 2, 13),
    "progprompt-minecraft": Result(4, 4, 4),
    "react-shopping": Result(3, 3, 3),
    "react-textcraft": Result(2, 2, 2),
    "reflexion-textcraft": Result(0, 1, 7),
    "spring-crafter": Result(0, 1, 18),
    "try-again-textcraft": Result(0, 1, 4),
    "zero-shot-minecraft": Result(4, 4, 4),
    "zero-shot-replan-minecraft": Result(4, 4, 4),
}

BROWSER_EPISODES = {
    "devils-advocate-web": Result(2, 2, 30),
    "lats-web": Result(1, 1, 15),
    "paper-devils-advocate-web": Result(4, 4, 66),
    "paper-plan-act-web": Result(4, 4, 48),
    "plan-act-web": Result(2, 2, 22),
}
"""Recordings of tasks in a browser. Another browser or other fonts render the pages differently, so prompts change."""
