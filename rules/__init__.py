"""What was learnt from the trajectories: rules, skills and reflections."""

from rules.types import Knowledge, Reflection, Rule, RuleType, Skill

__all__ = ["Knowledge", "Reflection", "Rule", "RuleType", "Skill"]
