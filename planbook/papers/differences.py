"""What a run did otherwise than the paper, read from its settings."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from planbook.config import Config, Learning
from planbook.papers.figures import Paper, Setting
from planbook.papers.played import Played
from planner import Outcome
from planner.asking import DEFAULT, PLANNER
from planner.models import Sampling

PAPER_ACTIONS = "paper_actions"
SAME_EITHER_WAY = ("engine",)
"""Options of worlds that change no observation."""
ALL_TYPES = "all types"
NOTHING_LIKE_IT = "nothing like it"


T = TypeVar("T")


class Difference(BaseModel):
    """One setting, ours and the paper's."""

    model_config = ConfigDict(frozen=True)

    what: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.what}: {self.ours}; theirs: {self.theirs}"


Facts = Iterator[tuple[str, object, object]]
"""What, ours, theirs; a None says nothing."""


def differences(played: Played, paper: Paper, split: str, types: int) -> tuple[Difference, ...]:
    """Everything that differs from how the paper's figure for a split was made; that is over so many task types."""
    setting = paper.settings[played.config.world.name]
    facts = [*_testing(played, setting, types), *_planning(played, paper, setting), *_learning(played, setting, split)]
    return tuple(
        Difference(what=what, ours=str(ours), theirs=str(theirs))
        for what, ours, theirs in facts
        if ours is not None and theirs is not None and ours != theirs
    )


def _testing(played: Played, setting: Setting, types: int) -> Facts:
    config, by_type = played.config, played.summary.by_type
    counts = sorted({tasks // played.summary.repeats for _, tasks in by_type.values()})
    each = counts[0] if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    yield "split", config.selection.split, setting.split
    yield "task types", len(by_type), types
    yield "tasks", played.tasks, setting.tasks
    yield "tasks of each type", each, setting.tasks_of_each_type
    yield "episodes that were not played", played.summary.failures.get(Outcome.NOT_RUN.value, 0), 0
    yield "repeats", played.summary.repeats, setting.repeats
    yield "actions that an episode may take", config.actions, setting.actions
    usual = config.world.Options().model_dump(mode="json")
    for name, value in config.world_options.model_dump(mode="json").items():
        if name == PAPER_ACTIONS:
            yield "actions", "those of the paper, and more" if not value else None, "its own"
        elif name not in SAME_EITHER_WAY:
            yield f"world option {name}", value, usual[name]


def _planning(played: Played, paper: Paper, setting: Setting) -> Facts:
    config = played.config
    if not played.uses_a_model:
        yield "planner", f"no model: {config.title}", "a model that writes every plan"
        return
    exact = {name for model in played.models for name in paper.test_models.values() if model.endswith(name)}
    theirs = " or ".join(paper.test_models.values())
    yield "planner", config.planner, "automanual"
    if len(exact) != len(played.models):
        yield "test model", ", ".join(played.models), theirs
    yield "replans", config.planner_options.get("replans"), setting.replans
    if config.planner_options.get("procedures_first"):
        yield "procedures", "stored procedures are tried before a model is asked", NOTHING_LIKE_IT
    if config.rule_tokens is not None:
        yield "rules in a prompt", f"at most {config.rule_tokens:,} tokens", "all of them"
    sampling = config.sampling.get(PLANNER) or config.sampling.get(DEFAULT) or Sampling()
    yield "temperature", sampling.temperature, 0.0
    yield "context, in tokens", sampling.context, 16_000
    yield "prompts", "in words of our own, through chat completions", "the paper's, through the Assistants API"


def _learning(played: Played, setting: Setting, split: str) -> Facts:
    config, building = played.config, played.building
    if building is None or building.learning is None:
        origin = f"the library {config.library}, whose building run is not at hand"
        yield "what was learnt", origin if played.learnt else "nothing", "from a building run"
        return
    if config.after is not None:
        yield "what was learnt", f"what was known after {config.after} building tasks", "after all"
    if played.only_in_testing:
        yield f"without {', '.join(played.only_in_testing)}", "in testing only", "in building, too"
    if "rules" not in played.without and not played.formulated and "formulation" not in config.without:
        yield "manual", "not formulated: the rules as a list", "formulated"
    yield from _building(played, building, building.learning, setting, split)


def _building(played: Played, building: Config, learning: Learning, setting: Setting, split: str) -> Facts:
    starts = _for(split, setting.starts)
    if not all(model.endswith(setting.building_model) for model in played.builders):
        yield "building model", ", ".join(played.builders), setting.building_model
    yield "building planner", building.planner, "automanual"
    yield "building split", building.selection.split, _for(split, setting.building_splits)
    yield "building tasks of each type", learning.tasks_per_type, setting.tasks_per_type
    yield "actions that an episode of building may take", building.actions, setting.building_actions
    yield "replans in building", building.planner_options.get("replans"), setting.replans
    yield "successes in a row that end a type", learning.solved_after, setting.solved_after
    yield "rules before they are consolidated", learning.max_rules, setting.max_rules
    yield "starting examples", _listed(learning.start, "none"), _listed(starts or (), "none")
    earlier = split in setting.rules_from_earlier
    yield "rules are built from", _built_from(learning.libraries_only), _built_from(earlier)
    if learning.per_type:
        yield "rules", "of each task type by themselves", "shared by all types"
    if building.selection.ids or building.selection.types:
        chosen = building.selection.types or building.selection.ids
        yield "built on", ", ".join(chosen), ALL_TYPES


def _built_from(earlier: bool) -> str:
    return "an earlier run, on the types with feedback" if earlier else ALL_TYPES


def _for(split: str, by_split: Mapping[str, T]) -> T | None:
    return by_split.get(split, by_split.get(""))


def _listed(names: Iterable[str], nothing: str) -> str:
    return ", ".join(sorted(names)) or nothing
