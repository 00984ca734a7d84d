"""What a run did otherwise than a paper that is kept as tables (``published.py``)."""

from collections.abc import Iterator

from pydantic import JsonValue

from planbook.config import SHIPPED_LIBRARY, Config, chosen_options
from planbook.figures.summary import Summary
from planbook.papers.differences import SAME_EITHER_WAY, Difference
from planbook.papers.published import Publication, Setting
from planner import Outcome

Facts = Iterator[tuple[str, object, object]]
"""What, ours, theirs."""
NO_LIMIT = "no limit"
SELECTOR = "selector"
"""An option whose None is the method's own choice, and no limit."""
WITHOUT_A_MODEL = ("procedures", "code", "naive", "random")


def unlike(config: Config, summary: Summary, models: tuple[str, ...], paper: Publication) -> tuple[Difference, ...]:
    """Everything that differs from how the paper's figures for the world and split were made."""
    setting = paper.setting(config.world.name, split_of(config))
    facts = [*_tasks(config, summary, setting), *_world(config, setting), *_planning(config, models, paper, setting)]
    return tuple(
        Difference(what=what, ours=_plain(ours), theirs=_plain(theirs))
        for what, ours, theirs in facts
        if ours != theirs
    )


def split_of(config: Config) -> str:
    """The split that was played: where none is named the world's first; empty for tasks that were chosen by id."""
    if config.selection.split or config.selection.ids:
        return config.selection.split or ""
    return config.world.splits[0]


def _tasks(config: Config, summary: Summary, setting: Setting) -> Facts:
    yield "split", split_of(config) or "tasks chosen by id", setting.split
    seeded = setting.repeats > 1 and config.world.takes_seeds(split_of(config) or setting.split)
    if summary.tasks != setting.tasks * setting.repeats:  # a task of another seed is as good as a repeat
        yield "tasks", summary.tasks // summary.repeats, setting.tasks
        if summary.repeats != setting.repeats:
            yield "repeats", summary.repeats, f"{setting.repeats}{_other_seeds(setting) if seeded else ''}"
    if seeded and summary.repeats == setting.repeats:
        yield "repeats", f"{summary.repeats}, each in the same world", f"{setting.repeats}{_other_seeds(setting)}"
    yield "episodes that were not played", summary.failures.get(Outcome.NOT_RUN.value, 0), 0
    if setting.actions is not None:
        yield "actions that an episode may take", config.actions, setting.actions


def _other_seeds(setting: Setting) -> str:
    """How to play as often in worlds that differ: a repeat has the seed of its task, and so its world and its luck."""
    return f" (--seeds 0-{setting.repeats - 1} instead of --repeats makes as many worlds of each task)"


def _world(config: Config, setting: Setting) -> Facts:
    usual = config.world.Options().model_dump(mode="json")
    for name, value in config.world_options.model_dump(mode="json").items():
        theirs = setting.world_options.get(name, (usual[name],))
        if name not in (*SAME_EITHER_WAY, setting.same_with) and value not in theirs:
            yield f"world option {name}", value, theirs[0]
    given = setting.same_with and getattr(config.world_options, setting.same_with)
    if setting.world:
        yield "world", f"{setting.same_with} {given}" if given else setting.our_world, setting.world


def _planning(config: Config, models: tuple[str, ...], paper: Publication, setting: Setting) -> Facts:
    if config.planner in WITHOUT_A_MODEL:
        if config.planner not in paper.planners:
            yield "planner", f"no model: {config.title}", "a model plans"
        return
    if config.planner not in paper.planners:
        yield "planner", config.planner, "none of this paper's"
    if not models or not all(model.endswith(setting.models) for model in models):
        yield "model", ", ".join(models), " or ".join(setting.models)
    ours = options_told(config)
    for name, theirs in setting.options.items():
        if name in ours:
            yield name, ours[name], theirs
    if config.library != SHIPPED_LIBRARY:
        yield "what was learnt", f"the library {config.library}", "nothing"
    yield "prompts", "in words of our own; models answer with Python", setting.prompts


def options_told(config: Config) -> dict[str, JsonValue]:
    """The planner's options as far as they can be held against a paper's."""
    found = chosen_options(config, config.world.name)
    if found.get(SELECTOR) is None:
        found.pop(SELECTOR, None)
    return found


def _plain(value: object) -> str:
    return NO_LIMIT if value is None else str(value)
