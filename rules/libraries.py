"""The skill and reflection libraries (AutoManual, section 3.2): one of each a task type, the latest."""

from planbook.envs import Task
from planbook.planner import Conclusion, Outcome, Procedure, Trajectory
from planbook.rules.retrieval import most_similar
from planbook.rules.types import Knowledge, Reflection, Skill

FAILED = frozenset({Outcome.FAILURE, Outcome.OUT_OF_BUDGET})
"""Outcomes that say something about the plan; the other unsolved ones do not."""


def learn(knowledge: Knowledge, trajectory: Trajectory, conclusion: Conclusion) -> Knowledge:
    """With what an episode's conclusion says in the place of what was there for its type; an empty one says nothing."""
    task, outcome = trajectory.task, trajectory.ending.outcome
    scene = trajectory.rounds[0].observation if trajectory.rounds else ""
    if outcome.solved and conclusion.code.strip():
        skill = Skill(task=task, scene=scene, code=conclusion.code)
        return knowledge.model_copy(update={"skills": {**knowledge.skills, task.type: skill}})
    if outcome in FAILED and conclusion.text.strip():
        reflection = Reflection(task=task, scene=scene, text=conclusion.text)
        return knowledge.model_copy(update={"reflections": {**knowledge.reflections, task.type: reflection}})
    return knowledge


def admit(knowledge: Knowledge, procedure: Procedure | None) -> Knowledge:
    """With a verified procedure in the place of its type's older one; without one nothing changes."""
    if procedure is None:
        return knowledge
    return knowledge.model_copy(update={"procedures": {**knowledge.procedures, procedure.type: procedure}})


def shown(knowledge: Knowledge, task: Task, *, anyway: bool = False) -> Skill | Reflection | None:
    """What a planner is shown for a task: its type's skill, else its type's reflection, else the most similar skill.

    ``anyway`` means also one whose task shares no word with this one.
    """
    if own := knowledge.skills.get(task.type) or knowledge.reflections.get(task.type):
        return own
    others = [knowledge.skills[kind] for kind in sorted(knowledge.skills)]
    closest = most_similar(task, [skill.task for skill in others], anyway=anyway)
    return None if closest is None else others[closest]
