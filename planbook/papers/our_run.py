"""Our run as papers are compared with: the models asked, what was left out, and where its knowledge comes from."""

from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from planbook.config import Config, chosen_options
from planbook.knowledge import RETRIEVAL, learned_in, with_manual
from planbook.manuals import read_knowledge, usual_starts
from planbook.planner import method
from planbook.results import Result, Summary, read_run
from planbook.results.statistics import percent
from planbook.rules import Knowledge
from planbook.runs import Run, is_run

IN_TESTING = frozenset({"formulation"})
"""Parts that the paper, too, left out in testing alone."""
OBJECT = "object"
"""The parameter of a task that names the object it is about."""
OWN_CHOICE = ("replans", "selector")
"""Options whose None is the method's own choice, not the absence of a limit."""
ALL_THAT_IS_LEARNT = "all that is learnt"


@dataclass(frozen=True)
class KnowledgeOrigin:
    """The origin of a run's knowledge."""

    building: Config | None
    """The configuration of the building run, if that is there."""
    builders: tuple[str, ...]
    """The models that answered in building."""
    formulated: bool
    """True if there was a manual for all rules."""
    learnt: bool
    """True if anything was known beyond the starting examples."""


@dataclass(frozen=True)
class OurRun:
    """A run that has ended; ``origin`` is there where a paper is about learning."""

    config: Config
    summary: Summary
    models: tuple[str, ...]
    """The models that answered, by the names that their servers gave."""
    by_object: dict[str, float]
    """The percentage solved of the tasks about each object, where tasks name one."""
    origin: KnowledgeOrigin | None

    @property
    def uses_a_model(self) -> bool:
        """True if a model planned, and not stored code alone."""
        return bool(method(self.config.planner).roles)

    @property
    def split(self) -> str:
        """The split that was played: the environment's first where none is named; empty for tasks chosen by id."""
        if self.config.selection.split or self.config.selection.ids:
            return self.config.selection.split or ""
        return self.config.world.splits[0]

    @property
    def tasks(self) -> int:
        """The number of tasks, each played as often as there were repeats."""
        return self.summary.tasks // self.summary.repeats

    @property
    def without(self) -> tuple[str, ...]:
        """Parts that were left out, in building or in testing."""
        implied = () if self.origin is None or self.origin.formulated else ("formulation",)
        named = {*self.config.without, *self._built_without, *implied} - {RETRIEVAL}
        return tuple(sorted(named - {"formulation"} if "rules" in named else named))

    @property
    def only_in_testing(self) -> tuple[str, ...]:
        """Parts that were left out in testing and not in building."""
        return tuple(sorted(set(self.config.without) - set(self._built_without) - IN_TESTING - {RETRIEVAL}))

    @property
    def _built_without(self) -> tuple[str, ...]:
        return self.origin.building.without if self.origin and self.origin.building else ()

    @property
    def start(self) -> tuple[str, ...]:
        """The starting examples; procedures that ship began with none."""
        if self.origin is None:
            return ()
        if self.origin.building and self.origin.building.learning:
            return self.origin.building.learning.start
        return usual_starts(self.config.world.name, self.split) if self.uses_a_model else ()

    @property
    def options(self) -> dict[str, JsonValue]:
        """The planner's options that can be compared with a paper's, as in ``PublishedRow``."""
        found = comparable_options(self.config)
        if self.origin:
            left_out = self.without if self.origin.learnt else (ALL_THAT_IS_LEARNT,)
            found |= {"without": [*left_out], "start": [*sorted(self.start)]}
        return found


def comparable_options(config: Config) -> dict[str, JsonValue]:
    """Return the planner's options in force that can be compared with a paper's."""
    found = chosen_options(config, config.world.name).items()
    return {name: value for name, value in found if value is not None or name not in OWN_CHOICE}


def our_run(config: Config, summary: Summary, *, learning: bool) -> OurRun:
    """Read the run, and if it is about ``learning`` its library, too. Raises BadRun, BadKnowledge."""
    with closing(Run.open(Path(summary.run))) as run:
        models = models_asked(run) if method(config.planner).roles else ()
        by_object = _by_object(read_run(run).episodes.values())
    return OurRun(config, summary, models, by_object, _origin(config) if learning else None)


def _origin(config: Config) -> KnowledgeOrigin:
    library = config.library_folder
    if not is_run(library):
        known = read_knowledge(library, config.world, config.world_options)
        learnt = bool(config.planner == "procedures" or known.rules or known.skills or known.reflections)
        return KnowledgeOrigin(None, (), _formulated([known]), learnt)
    with closing(Run.open(library)) as built:
        groups = [with_manual(built, group, state) for group, state in learned_in(built, config.after).items()]
        return KnowledgeOrigin(built.config, models_asked(built), _formulated(groups), config.after != 0)


def _formulated(known: list[Knowledge]) -> bool:
    return all(each.manual for each in known if each.rules)


def _by_object(rows: Iterable[Result]) -> dict[str, float]:
    counts = defaultdict[str, list[tuple[int, int]]](list)
    for row in rows:
        counts[str(row.entry.task.params.get(OBJECT, ""))].append((row.solved, 1))
    return {about: share for about, each in counts.items() if (share := percent(each)) is not None}


def models_asked(run: Run) -> tuple[str, ...]:
    """Return the models that answered; of a run in which none was asked, those that it names."""
    answered = [_name(event.body) for event in run.store.events(kind="ask")]
    return tuple(dict.fromkeys(answered)) or tuple(dict.fromkeys(run.config.models.values()))


def _name(body: Any) -> str:
    return str(body["reply"]["model"] or body["model"])
