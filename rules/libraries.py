"""The skill and reflection libraries (AutoManual, section 3.2): the latest of each for a task type."""

from planbook.envs import Task
from planbook.planner import Conclusion, Outcome, Procedure, Trajectory
from planbook.rules.retrieval import most_similar
from planbook.rules.types import Knowledge, Reflection, Skill

FAILED = frozenset({Outcome.FAILURE, Outcome.OUT_OF_BUDGET})
"""Outcomes that say something about the plan; other unsolved ones do not."""


def learn(knowledge: Knowledge, trajectory: Trajectory, conclusion: Conclusion) -> Knowledge:
    """Return the knowledge with an episode's conclusion in place of the last for its type; an empty one changes
    nothing.
    """
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
    """Return the knowledge with a verified procedure in place of its type's older one; None changes nothing."""
    if procedure is None:
        return knowledge
    return knowledge.model_copy(update={"procedures": {**knowledge.procedures, procedure.type: procedure}})


def shown(knowledge: Knowledge, task: Task, *, anyway: bool = False) -> Skill | Reflection | None:
    """Return what a planner is shown for a task: its type's skill, else its reflection, else the most similar skill.

    ``anyway`` allows a skill whose task shares no word with this one.
    """
    if own := knowledge.skills.get(task.type) or knowledge.reflections.get(task.type):
        return own
    others = [knowledge.skills[kind] for kind in sorted(knowledge.skills)]
    closest = most_similar(task, [skill.task for skill in others], anyway=anyway)
    return None if closest is None else others[closest]
