"""What a run did otherwise than a paper that is kept as tables (``published.py``)."""

from collections.abc import Iterator

from pydantic import JsonValue

from planbook.config import SHIPPED_LIBRARY, Config
from planbook.papers.differences import SAME_EITHER_WAY, Difference
from planbook.papers.published import Publication, Setting
from planbook.summary import Summary
from planner import Outcome, method
from planner.strategies.adapt import DepthOptions
from planner.strategies.executor import ExecutorOptions

Facts = Iterator[tuple[str, object, object]]
"""What, ours, theirs."""
NO_LIMIT = "no limit"
SELECTOR = "selector"
"""An option whose None is the method's own choice, and no limit."""
WITHOUT_A_MODEL = ("procedures", "code")


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
    if setting.split is not None:
        yield "split", split_of(config) or "tasks chosen by id", setting.split
    if summary.tasks != setting.tasks * setting.repeats:  # a task of another seed is as good as a repeat
        yield "tasks", summary.tasks // summary.repeats, setting.tasks
        yield "repeats", summary.repeats, setting.repeats
    yield "episodes that were not played", summary.failures.get(Outcome.NOT_RUN.value, 0), 0
    if setting.actions is not None:
        yield "actions that an episode may take", config.actions, setting.actions


def _world(config: Config, setting: Setting) -> Facts:
    usual = config.world.Options().model_dump(mode="json")
    for name, value in config.world_options.model_dump(mode="json").items():
        if name not in SAME_EITHER_WAY:
            yield f"world option {name}", value, usual[name]
    if setting.world:
        yield "world", "in text", setting.world


def _planning(config: Config, models: tuple[str, ...], paper: Publication, setting: Setting) -> Facts:
    if config.planner in WITHOUT_A_MODEL:
        yield "planner", f"no model: {config.title}", "a model plans"
        return
    if config.planner not in paper.planners:
        yield "planner", config.planner, "none of this paper's"
    if not models or not all(model.endswith(setting.models) for model in models):
        yield "model", ", ".join(models), " or ".join(setting.models)
    ours = chosen_options(config)
    for name, theirs in setting.options.items():
        if name in ours:
            yield name, ours[name], theirs
    if config.library != SHIPPED_LIBRARY:
        yield "what was learnt", f"the library {config.library}", "nothing"
    yield "prompts", "in words of our own; models answer with Python", setting.prompts


def chosen_options(config: Config) -> dict[str, JsonValue]:
    """The planner's options as they come out, those included that follow from the world."""
    options = method(config.planner).options.model_validate(config.planner_options)
    found: dict[str, JsonValue] = options.model_dump(mode="json")
    if isinstance(options, ExecutorOptions):
        found["iterations"] = options.replies(config.world.name)
    if isinstance(options, DepthOptions):
        found["d_max"] = options.deepest(config.world.name)
    if found.get(SELECTOR) is None:
        found.pop(SELECTOR, None)
    return found


def _plain(value: object) -> str:
    return NO_LIMIT if value is None else str(value)
