"""What was learnt from the trajectories: rules, skills and reflections."""

from rules.types import Reflection, Rule, RuleType, Skill

__all__ = ["Reflection", "Rule", "RuleType", "Skill"]
