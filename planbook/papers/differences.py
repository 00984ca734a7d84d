"""Differences between our run and a paper's setting."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook.config import SHIPPED_LIBRARY, Config, Learning
from planbook.knowledge import RETRIEVAL
from planbook.papers.our_run import KnowledgeOrigin, OurRun, comparable_options
from planbook.papers.published import PaperBuilding, PaperSetting, Publication
from planbook.planner import DEFAULT_ROLE, PLANNER_ROLE, Outcome, Sampling

SAME_EITHER_WAY = ("engine",)
"""Options of environments that change no observation."""
NO_LIMIT = "no limit"
COMPARED = ("tasks_per_type", "solved_after", "max_rules", "start", "libraries_only", "per_type")
"""Options of building that are compared."""


class PaperDifference(BaseModel):
    """One setting, ours and the paper's."""

    model_config = ConfigDict(frozen=True)

    what: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.what}: {self.ours}; theirs: {self.theirs}"


Facts = Iterator[tuple[str, object, object]]
"""The name of a setting, our value and theirs; None where nothing is known."""


def differences(run: OurRun, paper: Publication, setting: PaperSetting) -> tuple[PaperDifference, ...]:
    """Return everything that differs from how the paper's figures of a setting were made."""
    apart = setting.apart.get(run.config.planner, {})
    usual = [*_tasks(run, setting), *_world(run.config, setting), *_planning(run, paper, setting)]
    facts: list[tuple[str, object, object]] = [fact for fact in usual if fact[0] not in apart]
    facts += [(what, ours.format(tasks=run.tasks), theirs) for what, (ours, theirs) in apart.items()]
    if setting.building:
        facts += _learning(run, setting.building)
    return tuple(
        PaperDifference(what=what, ours=str(ours), theirs=str(theirs))
        for what, ours, theirs in facts
        if ours is not None and theirs is not None and ours != theirs
    )


def _tasks(run: OurRun, setting: PaperSetting) -> Facts:
    summary = run.summary
    yield "split", run.split or "tasks chosen by id", setting.split
    yield "task types", len(summary.by_type), len(setting.types) or None
    if setting.tasks is None or summary.tasks != setting.tasks * setting.repeats:  # another seed is as good as a repeat
        yield "tasks", run.tasks, setting.tasks
        yield "repeats", summary.repeats, setting.repeats
    yield "episodes that were not played", summary.failures.get(Outcome.NOT_RUN.value, 0), 0
    yield "actions that an episode may take", run.config.actions, setting.actions


def _world(config: Config, setting: PaperSetting) -> Facts:
    usual = config.world.Options().model_dump(mode="json")
    for name, value in config.world_options.model_dump(mode="json").items():
        theirs = setting.world_options.get(name, (usual[name],))
        if name not in (*SAME_EITHER_WAY, setting.same_with) and value not in theirs:
            yield f"world option {name}", _limit(value), _limit(theirs[0])
    given = setting.same_with and getattr(config.world_options, setting.same_with)
    if setting.world:
        yield "world", f"{setting.same_with} {given}" if given else setting.our_world, setting.world


def _planning(run: OurRun, paper: Publication, setting: PaperSetting) -> Facts:
    config = run.config
    if not run.uses_a_model:
        if config.planner not in paper.planners:
            yield "planner", f"no model: {config.title}", "a model plans"
        return
    if config.planner not in paper.planners:
        yield "planner", config.planner, "none of this paper's"
    yield from _models("model", run.models, setting.models)
    yield from _options("", run.options, paper.options(config.planner, setting))
    if config.rule_tokens is not None:
        yield "rules in a prompt", f"at most {config.rule_tokens:,} tokens", "all of them"
    elif RETRIEVAL not in config.without and run.origin and run.origin.building:
        yield "rules in a prompt", "those that the task needs (--without retrieval tells all)", "all of them"
    sampling = config.sampling.get(PLANNER_ROLE) or config.sampling.get(DEFAULT_ROLE) or Sampling()
    yield "temperature", sampling.temperature, setting.sampling.get("temperature")
    yield "context, in tokens", sampling.context, setting.sampling.get("context")
    if setting.building is None and config.library != SHIPPED_LIBRARY:
        yield "what was learnt", f"the library {config.library}", "nothing"
    yield "prompts", "in words of our own, through chat completions; models answer with Python", setting.prompts


def _learning(run: OurRun, theirs: PaperBuilding) -> Facts:
    origin, config = run.origin, run.config
    if origin is None or origin.building is None or origin.building.learning is None:
        library = f"the library {config.library}, whose building run is not at hand"
        yield "what was learnt", library if origin and origin.learnt else "nothing", "from a building run"
        return
    if config.after is not None:
        yield "what was learnt", f"what was known after {config.after} building tasks", "after all"
    if run.only_in_testing:
        yield f"without {', '.join(run.only_in_testing)}", "in testing only", "in building, too"
    if "rules" not in run.without and not origin.formulated and "formulation" not in config.without:
        yield "manual", "not formulated: the rules as a list", "formulated"
    yield from _building(origin, origin.building, origin.building.learning, theirs)


def _building(origin: KnowledgeOrigin, building: Config, learning: Learning, theirs: PaperBuilding) -> Facts:
    yield from _models("building model", origin.builders, theirs.models)
    yield "building planner", building.planner, theirs.planner
    yield "building split", building.selection.split, theirs.split
    yield "actions that an episode of building may take", building.actions, theirs.actions
    yield from _options(" in building", comparable_options(building), theirs.options)
    for name in COMPARED:
        yield f"{name} in building", _limit(getattr(learning, name)), _limit(getattr(theirs.learning, name))
    if building.selection.ids or building.selection.types:
        yield "built on", ", ".join(building.selection.types or building.selection.ids), "all types"


def _models(what: str, ours: tuple[str, ...], theirs: tuple[str, ...]) -> Facts:
    if not ours or not all(model.endswith(theirs) for model in ours):
        yield what, ", ".join(ours), " or ".join(theirs)


def _options(where: str, ours: Mapping[str, JsonValue], theirs: Mapping[str, JsonValue]) -> Facts:
    for name, value in theirs.items():
        if name in ours:
            yield f"{name}{where}", _limit(ours[name]), _limit(value)


def _limit(value: JsonValue) -> JsonValue:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return NO_LIMIT if value is None else value
