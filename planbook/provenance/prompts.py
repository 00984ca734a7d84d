"""Digests of the prompt templates that a run's roles can be asked, and of the graphs that make prompts."""

from collections.abc import Mapping
from pathlib import Path

from planbook.config import Config
from planbook.envs import file_digest, texts_digest
from planbook.manuals.formulator import PROMPTS as MANUALS
from planbook.planner import METHODS, method
from planbook.planner.graph import PROMPTS as GRAPHS
from planbook.planner.strategies import is_file, registered
from planbook.planner.templates import PROMPTS as PLANNER
from planbook.provenance.own_code import of_modules_beside, of_registered
from planbook.rules.telling import PROMPTS as RULES

SHOWN = 16
"""Digits of a digest that are recorded: enough to tell two texts of one template apart."""
EVERYWHERE = ("repair.j2", "action_docs.j2")
"""Templates of every method that asks a model."""
LEARNING = ("automanual/conclu*.j2", "trajectory.j2")
"""Those of the planner's templates that learning from an episode needs, whichever method played it."""


def prompt_digests(config: Config) -> dict[str, str]:
    """Template or graph to digest; nothing for a method that asks no model."""
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    found: dict[str, str] = {}
    if is_file(config.planner):
        file = Path(config.planner.partition(":")[0])
        found |= {f"the method's file {file.name}": file_digest(file)[:SHOWN], **of_modules_beside(file, "method")}
    elif config.planner not in METHODS:
        found |= of_registered(registered()[config.planner].value, "method")
    if strategy.roles:
        found |= _of_files({**PLANNER.files(*EVERYWHERE), **strategy.templates})
    if config.learning is not None:
        found |= _of_files({**PLANNER.files(*EVERYWHERE, *LEARNING), **RULES.files(), **MANUALS.files()})
    if texts := options.texts(config.world.name):
        found |= graph_templates() | {name: texts_digest([text])[:SHOWN] for name, text in texts.items()}
    return found


def graph_templates() -> dict[str, str]:
    """Those that a prompt graph needs beside its own prompts."""
    return _of_files({**GRAPHS.files("*.j2"), **PLANNER.files("repair.j2")})


def _of_files(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: file_digest(path)[:SHOWN] for name, path in files.items()}
