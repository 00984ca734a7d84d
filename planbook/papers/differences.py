"""Find the differences between a run's settings and a paper's.

"Our" and "ours" refer to a run of planbook, "theirs" to a paper.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, JsonValue

from planbook.config import PAPER_OPTIONS, SHIPPED_LIBRARY, Config, LearningSettings, effective_options
from planbook.knowledge import PROCEDURES, RETRIEVAL, library_knowledge
from planbook.manuals import default_starts
from planbook.papers import PaperBuild, PaperSetting, Publication, papers_of
from planbook.planner import DEFAULT_ROLE, PLANNER_ROLE, Outcome, Sampling, method
from planbook.results import RunResults, read_folder, read_run
from planbook.results.rows import EpisodeResult
from planbook.results.summary import Summary
from planbook.runs import Run, is_run
from planbook.wording import counted

LEFT_OUT_IN_TESTING = frozenset({"formulation"})
"""Parts that the paper left out only in testing, not in learning."""
SHOWN_TO_PLANNERS = frozenset({"rules", "libraries", "helpers", "cooperation"})
"""Parts that a test can use even if the build left them out. It cannot use other parts that the build left out."""
CHOSEN_BY_METHOD = ("replans", "selector")
"""Options for which None lets the method choose a value. For all other options, None means "no limit"."""
ALL_THAT_IS_LEARNED = "all that is learned"


@dataclass(frozen=True)
class KnowledgeOrigin:
    """The origin of the knowledge of a run."""

    build: Config | None
    """The configuration of the run of `planbook build` that learned it, or None if files were read instead."""
    builders: tuple[str, ...]
    """The models that answered in this run of `planbook build`."""
    formulated: bool
    """True if a manual was written from the rules, or if there are no rules."""
    learned: bool
    """True if the knowledge is more than the starting examples."""


@dataclass(frozen=True)
class OurRun:
    """A finished run to compare with papers. ``origin`` is None if none of the papers is about learning."""

    config: Config
    summary: Summary
    models: tuple[str, ...]
    """The models that answered, under the names that their servers reported."""
    rows: Sequence[EpisodeResult]
    """The episodes that count."""
    origin: KnowledgeOrigin | None

    @property
    def uses_a_model(self) -> bool:
        """True if the method asks a model, False if it only plays stored code."""
        return bool(method(self.config.planner).roles)

    @property
    def split(self) -> str:
        """The split that was played. If the run names neither a split nor tasks, it is the environment's first split.

        It is "" if tasks were selected by their ids, without a split.
        """
        if self.config.selection.split or self.config.selection.ids:
            return self.config.selection.split or ""
        return self.config.environment.splits[0]

    @property
    def tasks(self) -> int:
        """Number of tasks. Repeats are not counted."""
        return self.summary.tasks // self.summary.repeats

    @property
    def without(self) -> tuple[str, ...]:
        """The parts that were left out in this run, or in the build that learned its knowledge."""
        build = self.origin and self.origin.build
        built_without = {*build.without} - LEFT_OUT_IN_TESTING if build else set()
        implied = {"formulation"} if self.origin and not self.origin.formulated else set()
        parts = {*self.config.without, *built_without, *implied} - {RETRIEVAL}
        return tuple(sorted(parts - {"formulation"} if "rules" in parts else parts))

    @property
    def start(self) -> tuple[str, ...]:
        """The names of the starting examples. There are none if the run only plays procedures read from files."""
        if self.origin is None:
            return ()
        if self.origin.build and self.origin.build.learning:
            return self.origin.build.learning.start
        return default_starts(self.config.environment.name, self.split) if self.uses_a_model else ()

    @property
    def options(self) -> dict[str, JsonValue]:
        """The comparable options of our planner and our environment. See ``PublishedRow.options``."""
        options = self.config.environment_options.model_dump(mode="json") | comparable_options(self.config)
        if self.origin:
            left_out = self.without if self.origin.learned else (ALL_THAT_IS_LEARNED,)
            options |= {"without": [*left_out], "start": [*sorted(self.start)]}
        return options


def comparable_options(config: Config) -> dict[str, JsonValue]:
    """Return the planner's options, including defaults, that can be compared with a paper's."""
    options = effective_options(config, config.environment.name).items()
    return {name: value for name, value in options if value is not None or name not in CHOSEN_BY_METHOD}


def our_run(summary: Summary) -> OurRun:
    """Read the run of a summary. If one of its papers is about learning, find the origin of the run's knowledge.

    Raises BadRun or BadKnowledge if the run or its library cannot be read.
    """
    results = read_folder(Path(summary.run))
    config, env = results.run.config, results.run.config.environment.name
    models = models_asked(results) if method(config.planner).roles else ()
    papers = papers_of(config.planner, env)
    is_about_learning = any(setting.build for paper in papers for setting in paper.settings_of(env))
    return OurRun(config, summary, models, results.counted_rows, _origin(config) if is_about_learning else None)


def _origin(config: Config) -> KnowledgeOrigin:
    library, knowledge = config.library_folder, library_knowledge(config)
    formulated = bool(knowledge.manual or not knowledge.rules)
    if not is_run(library):
        learned = bool(knowledge.rules or knowledge.skills or knowledge.reflections)
        return KnowledgeOrigin(None, (), formulated, learned or config.planner == PROCEDURES)
    with closing(Run.open(library)) as build_run:
        return KnowledgeOrigin(build_run.config, models_asked(read_run(build_run)), formulated, config.after != 0)


def models_asked(run: RunResults) -> tuple[str, ...]:
    """Return the models that answered in a run or, if no model was asked, the models in its configuration."""
    return tuple(run.answering_models) or tuple(dict.fromkeys(run.run.config.models.values()))


OPTIONS_WITHOUT_EFFECT = ("engine",)
"""Options of environments that do not change observations."""
ACCESS_OPTIONS = ("sites", "introduction", "logins", "allowed")
"""Options that a paper's environment needs, too. They do not count as differences if a run sets ``matching_option``."""
NO_LIMIT = "no limit"


class PaperDifference(BaseModel):
    """A setting whose value in our run differs from its value in the paper."""

    what: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.what}: {self.ours}; theirs: {self.theirs}"


ComparedValues = Iterator[tuple[str, object, object]]
"""Tuples (name of a setting, our value, their value). An unknown value is None."""


def differences(run: OurRun, paper: Publication, setting: PaperSetting) -> tuple[PaperDifference, ...]:
    """Return all differences between our run and the paper's setting."""
    deviations = setting.deviations.get(run.config.planner, {})
    regular = [*_tasks(run, setting), *_environment(run.config, setting), *_planning(run, paper, setting)]
    values: list[tuple[str, object, object]] = [value for value in regular if value[0] not in deviations]
    values += [(name, ours.format(tasks=run.tasks), theirs) for name, (ours, theirs) in deviations.items()]
    if setting.build:
        values += _learning(run, setting.build)
    return tuple(
        PaperDifference(what=name, ours=str(ours), theirs=str(theirs))
        for name, ours, theirs in values
        if ours is not None and theirs is not None and ours != theirs
    )


def _tasks(run: OurRun, setting: PaperSetting) -> ComparedValues:
    summary = run.summary
    yield "split", run.split or "tasks chosen by id", setting.split
    yield "task types", len(summary.by_type), len(setting.types) or None
    if setting.tasks is None or summary.tasks != setting.tasks * setting.repeats:  # a paper's repeats may be our seeds
        yield "tasks", run.tasks, setting.tasks
        yield "repeats", summary.repeats, setting.repeats
    if setting.reseeds and summary.repeats > 1:
        yield "seeds", "the same in each repeat", "different in each repeat"
    yield "episodes that were not played", summary.failures.get(Outcome.NOT_RUN.value, 0), 0
    yield "actions allowed in an episode", run.config.actions, setting.actions


def _environment(config: Config, setting: PaperSetting) -> ComparedValues:
    defaults = config.environment.Options().model_dump(mode="json")
    matching_value = setting.matching_option and getattr(config.environment_options, setting.matching_option)
    exempt = (*OPTIONS_WITHOUT_EFFECT, setting.matching_option, *(ACCESS_OPTIONS if matching_value else ()))
    for name, value in config.environment_options.model_dump(mode="json").items():
        theirs = setting.environment_options.get(name, (defaults[name],))
        if name not in exempt and value not in theirs:
            yield f"environment option {name}", _as_text(value), _as_text(theirs[0], none="the default")
    if setting.environment:
        yield (
            "environment",
            f"{setting.matching_option} {matching_value}" if matching_value else setting.our_environment,
            setting.environment,
        )


def _planning(run: OurRun, paper: Publication, setting: PaperSetting) -> ComparedValues:
    config = run.config
    if not run.uses_a_model:
        if config.planner not in paper.planners:
            yield "planner", f"no model: {config.title}", "a model plans"
        return
    if not paper.has_results(config.planner, setting.env):
        reason = (
            "tested this method only elsewhere" if config.planner in paper.planners else "does not have this method"
        )
        yield "planner", config.planner, f"the paper {reason}"
    mixes = [row.models for row in paper.best_matching_rows(config.planner, setting, run.options) if row.models]
    yield from _models("model", run.models, mixes or [(name,) for name in setting.models])
    theirs = paper.options(config.planner, setting, run.options)
    yield from _options("", run.options, theirs)
    defaults = method(config.planner).options().model_dump(mode="json")
    for name in sorted(defaults.keys() - theirs.keys()):
        if (value := config.planner_options.get(name, defaults[name])) != defaults[name]:
            ours = "" if defaults[name] is None else f" (our default: {_as_text(defaults[name])})"
            yield name, _as_text(value), f"not stated{ours}"
    yield (
        "plans that are refused before they act",
        "those with an action that is known to fail" if config.dry_run else None,
        "none",
    )
    yield "streaming", "statements run while the reply arrives" if config.stream else None, "none"
    if config.rule_tokens is not None:
        yield "rules in a prompt", f"at most {config.rule_tokens:,} tokens", "all of them"
    elif RETRIEVAL not in config.without and run.origin and run.origin.build:
        yield "rules in a prompt", "those that the task needs (--without retrieval gives all)", "all of them"
    sampling = config.sampling.get(PLANNER_ROLE) or config.sampling.get(DEFAULT_ROLE) or Sampling()
    yield "temperature", sampling.temperature, setting.sampling.get("temperature")
    yield "context, in tokens", sampling.context, setting.sampling.get("context")
    yield "tokens of a reply", sampling.max_tokens, setting.sampling.get("max_tokens")
    if setting.build is None and config.library != SHIPPED_LIBRARY:
        yield "what was learned", f"the library {config.library}", "nothing"
    yield "prompts", "in our own words, through chat completions; models answer with Python", setting.prompts


def _learning(run: OurRun, theirs: PaperBuild) -> ComparedValues:
    origin, config = run.origin, run.config
    if origin is None or origin.build is None or origin.build.learning is None:
        library = f"the library {config.library}, whose run of `planbook build` is not available"
        yield "what was learned", library if origin and origin.learned else "nothing", "from a run of `planbook build`"
        return
    if config.after is not None:
        yield "what was learned", f"the knowledge after {counted(config.after, 'training task')}", "after all of them"
    tested, built = {*config.without}, {*origin.build.without}  # the paper left out the same parts in both
    if parts := tested - built - LEFT_OUT_IN_TESTING - {RETRIEVAL}:
        yield f"without {', '.join(sorted(parts))}", "only in testing", "also in the build"
    if parts := built & SHOWN_TO_PLANNERS - tested:
        yield f"without {', '.join(sorted(parts))}", "only in the build", "also in testing"
    if "rules" not in run.without and not origin.formulated and "formulation" not in config.without:
        yield "manual", "not formulated: the rules as a list", "formulated"
    yield from _build_settings(origin, origin.build, origin.build.learning, theirs)


def _build_settings(
    origin: KnowledgeOrigin, build: Config, learning: LearningSettings, theirs: PaperBuild
) -> ComparedValues:
    yield from _models("model of the build", origin.builders, [(name,) for name in theirs.models])
    yield "planner of the build", build.planner, theirs.planner
    yield "split of the build", build.selection.split, theirs.split
    yield "actions allowed in an episode of the build", build.actions, theirs.actions
    yield from _options(" in the build", comparable_options(build), theirs.options)
    for name in PAPER_OPTIONS:
        yield f"{name} in the build", _as_text(getattr(learning, name)), _as_text(getattr(theirs.learning, name))
    if theirs.learning.libraries_only and "rules" not in build.without and not is_run(build.library_folder):
        yield "rules in the build", "not from a run of `planbook build`", "from an earlier build"
    if build.selection.ids or build.selection.types:
        yield "built on", ", ".join(build.selection.types or build.selection.ids), "all types"


def _models(name: str, ours: tuple[str, ...], mixes: Sequence[tuple[str, ...]]) -> ComparedValues:
    """Compare our models with the paper's. ``mixes`` has the models of each of the paper's runs."""
    if not any({*ours} == {*mix} for mix in mixes):
        yield name, ", ".join(ours), " or ".join(dict.fromkeys(" and ".join(mix) for mix in mixes))


def _options(suffix: str, ours: Mapping[str, JsonValue], theirs: Mapping[str, JsonValue]) -> ComparedValues:
    for name, value in theirs.items():
        if name in ours:
            yield f"{name}{suffix}", _as_text(ours[name]), _as_text(value)


def _as_text(value: JsonValue, none: str = NO_LIMIT) -> JsonValue:
    """Return the value of an option as text. ``none`` is the text for None."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return none if value is None else value
