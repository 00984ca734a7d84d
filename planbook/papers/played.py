"""What a test run was, as far as a comparison asks: who was asked, what was left out, and how it was built."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manuals import read_knowledge, usual_starts
from planbook.config import Config
from planbook.figures.summary import Summary
from planbook.learning.state import learnt_in, with_manual
from planbook.run import CONFIG_FILE, Run
from planner import method
from rules import Knowledge

IN_TESTING = frozenset({"formulation"})
"""What is left out in testing alone, in the paper too."""


@dataclass(frozen=True)
class Played:
    """A test run that is over, and the building run whose knowledge it played with, if that is what it played with."""

    config: Config
    summary: Summary
    models: tuple[str, ...]
    """The models that answered, by the names that their servers gave."""
    building: Config | None
    builders: tuple[str, ...]
    """The models that answered in building."""
    formulated: bool
    """Whether there was a manual, of the rules that there were."""
    learnt: bool
    """Whether anything was known beyond the starting examples."""

    @property
    def uses_a_model(self) -> bool:
        """Whether a planner planned, and not stored code alone."""
        return bool(method(self.config.planner).roles)

    @property
    def without(self) -> tuple[str, ...]:
        """What was left out, when it was built or when it was tested."""
        built = self.building.without if self.building else ()
        implied = () if self.formulated else ("formulation",)
        named = {*self.config.without, *built, *implied}
        return tuple(sorted(named - {"formulation"} if "rules" in named else named))

    @property
    def only_in_testing(self) -> tuple[str, ...]:
        """What was left out in testing and was there in building."""
        built = self.building.without if self.building else ()
        return tuple(sorted(set(self.config.without) - set(built) - IN_TESTING))

    @property
    def start(self) -> tuple[str, ...]:
        """The starting examples; procedures that ship began with none."""
        if self.building and self.building.learning:
            return self.building.learning.start
        if not self.uses_a_model:
            return ()
        return usual_starts(self.config.world.name, self.config.selection.split or "")

    @property
    def tasks(self) -> int:
        """How many tasks, each played as often as there were repeats."""
        return self.summary.tasks // self.summary.repeats


def played(config: Config, summary: Summary) -> Played:
    """Look up what the run and its library hold. Raises BadRun, BadKnowledge."""
    with closing(Run.open(Path(summary.run))) as run:
        models = models_asked(run)
    library = config.library_folder
    if not (library / CONFIG_FILE).exists():
        known = [read_knowledge(library, config.world, config.world_options)]
        return Played(config, summary, models, None, (), _formulated(known), _known(config, library))
    with closing(Run.open(library)) as built:
        known = [with_manual(built, group, state) for group, state in learnt_in(built, config.after).items()]
        return Played(config, summary, models, built.config, models_asked(built), _formulated(known), config.after != 0)


def _formulated(known: list[Knowledge]) -> bool:
    return all(each.manual for each in known if each.rules)


def _known(config: Config, library: Path) -> bool:
    """Whether a folder holds anything about the world, apart from the starts."""
    if config.planner == "procedures":
        return True
    known = read_knowledge(library, config.world, config.world_options)
    return bool(known.rules or known.skills or known.reflections)


def models_asked(run: Run) -> tuple[str, ...]:
    """The models that answered; of a run in which none was asked, those that it names."""
    answered = [_name(event.body) for event in run.store.events(kind="ask")]
    return tuple(dict.fromkeys(answered)) or tuple(dict.fromkeys(run.config.models.values()))


def _name(body: Any) -> str:
    return str(body["reply"]["model"] or body["model"])
