"""What is asked for on the command line: tasks, models, limits, a budget, and how rules are built."""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, JsonValue

from planbook.config import LIBRARIES, RECORDINGS, SHIPPED_LIBRARY, Config, Learning
from planbook.envs import Environment, Selection, load_environment
from planbook.errors import BadArgument
from planbook.manuals import usual_starts
from planbook.option_values import pairs, validated
from planbook.papers import NO_PAPER, PaperSettings, paper_settings
from planbook.planner import Budget, method
from planbook.planner.models import Sampling
from planbook.planner.models.waiting import Timeouts
from planbook.planner.roles import DEFAULT_ROLE
from planbook.sandbox import Limits

Named = TypeVar("Named", bound=BaseModel)

NO_MODEL = "none"


class Asked(BaseModel):
    """What is to be played, as the options say it."""

    env: str | None
    options: tuple[str, ...] = ()
    paper_actions: bool = False
    split: str | None = None
    types: str = ""
    seeds: str = ""
    ids: tuple[str, ...] = ()
    repeats: int = 1
    actions: int | None = None
    limits: tuple[str, ...] = ()
    seed: int = 0
    dry_run: bool = False
    library: str | None = None
    after: int | None = None
    rule_tokens: int | None = None
    models: tuple[str, ...] = ()
    sampling: tuple[str, ...] = ()
    planner_options: tuple[str, ...] = ()
    procedures_first: bool = False
    strict_recordings: bool = False
    stream: bool = False
    without: tuple[str, ...] = ()
    paper: bool = False
    sources: tuple[Path, ...] = ()
    """Where episodes are copied from, instead of being played."""
    out: Path | None = None
    store: str | None = None

    def world(self) -> type[Environment]:
        """The world that was named. Raises BadArgument, UnknownEnvironment."""
        if not self.env:
            raise BadArgument("name a world with --env; `planbook envs` lists them")
        return load_environment(self.env)

    def _lasting_name(self) -> str:
        """The world's name, good in any folder."""
        return in_any_folder(self.env or "")

    def _lasting_library(self) -> str:
        """The library, good in any folder: one that ships by its name, else the whole path. Raises BadArgument."""
        if self.library is None or self.library in LIBRARIES:
            return self.library or SHIPPED_LIBRARY
        folder = Path(self.library).resolve()
        if not folder.is_dir():
            raise BadArgument(f"--library {self.library}: no such folder; there are also {', '.join(LIBRARIES)}")
        return str(folder)

    def world_options(self, theirs: PaperSettings = NO_PAPER) -> BaseModel:
        """The world's options, defaults included. Raises BadArgument."""
        asked = {**theirs.env_options, **pairs(self.options, "--option")}
        if self.paper_actions:
            asked["paper_actions"] = True
        return validated(self.world().Options, asked, "--option")

    def paper_settings(self, planner: str, *, building: bool = False) -> PaperSettings:
        """The settings of the method's paper, if they were asked for. Raises BadArgument."""
        if not self.paper:
            return NO_PAPER
        chosen = self.selection()
        return paper_settings(planner, self.env or "", chosen.split or "", chosen.types, building=building)

    def drawn(self, seeds: range, count: int, splits: tuple[str, ...]) -> "Asked":
        """With seeds drawn by the run's own where none are named, and the first of these splits that the world has."""
        world = self.world()
        split = self.split or next((split for split in splits if split in world.splits), world.splits[0])
        takes_seeds = world.takes_seeds(split.partition(":")[0])
        drawn = sorted(random.Random(f"seeds/{self.seed}").sample(seeds, count)) if takes_seeds else []
        return self.model_copy(update={"seeds": self.seeds or ",".join(map(str, drawn)), "split": split})

    def selection(self) -> Selection:
        """The tasks that were chosen. Raises BadArgument."""
        name, colon, count = (self.split or "").partition(":")
        if colon and not (count.isdecimal() and int(count) > 0):
            raise BadArgument(f"--split {self.split}: after the colon comes a number of tasks, for example {name}:20")
        return Selection(
            split=name or None,
            limit=int(count) if count else None,
            types=tuple(filter(None, self.types.split(","))),
            seeds=tuple(_seeds(self.seeds)) if self.seeds else (),
            ids=self.ids,
        )

    def models_by_role(self) -> dict[str, str]:
        """The models that were named. Raises BadArgument for two of one role."""
        return by_role(self.models)

    def sampling_by_role(self, usual: Mapping[str, JsonValue]) -> dict[str, Sampling]:
        """The sampling that was asked for; for what was not, the usual of the method. Raises BadArgument."""
        asked: dict[str, dict[str, JsonValue]] = {}
        for name, value in pairs(self.sampling, "--sampling").items():
            role, field = _of_role(name, ".")
            asked.setdefault(role, {})[field] = value
        if usual:
            asked[DEFAULT_ROLE] = {**usual, **asked.get(DEFAULT_ROLE, {})}
        everyone = asked.get(DEFAULT_ROLE, {})
        merged = {role: {**everyone, **values} for role, values in asked.items()}
        return {
            role: Sampling.model_validate(validated(Sampling, values, "--sampling").model_dump())
            for role, values in merged.items()
        }

    def options_of(self, planner: str, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
        """The planner's options, defaults included. Raises BadArgument, UnknownStrategy."""
        asked = {**given, **pairs(self.planner_options, "--planner-option")}
        if self.procedures_first:
            asked["procedures_first"] = True
        return validated(method(planner).options, asked, "--planner-option").model_dump(mode="json")

    def config(
        self, planner: str, planner_options: dict[str, JsonValue] | None = None, *, building: bool = False
    ) -> Config:
        """Everything that was asked for, as a run records it: what the paper set stands behind what was given."""
        world, theirs = self.world(), self.paper_settings(planner, building=building)
        options = method(planner).options
        actions = next(
            (each for each in (self.actions, theirs.actions, options.usual_actions) if each is not None), None
        )
        return Config(
            planner=in_any_folder(planner),
            planner_options=self.options_of(planner, {**theirs.options, **(planner_options or {})}),
            env=self._lasting_name(),
            env_options=self.world_options(theirs).model_dump(mode="json"),
            selection=self.selection(),
            repeats=self.repeats,
            actions=world.action_limit if actions is None else actions,
            limits=Limits.model_validate(validated(Limits, pairs(self.limits, "--limit"), "--limit").model_dump()),
            seed=self.seed,
            dry_run=self.dry_run,
            library=self._lasting_library(),
            after=self.after,
            rule_tokens=self.rule_tokens,
            models={role: lasting_model(model) for role, model in self.models_by_role().items()},
            sampling=self.sampling_by_role({**options.usual_sampling, **theirs.sampling}),
            strict_recordings=self.strict_recordings,
            stream=self.stream,
            without=tuple(sorted({*self.without, *theirs.without})),
            paper=theirs.paper,
        )


def in_any_folder(name: str) -> str:
    """Return a name that is good in any folder: FILE.py:NAME with the whole path of the file."""
    path, colon, member = name.partition(":")
    return f"{Path(path).resolve()}{colon}{member}" if path.endswith(".py") else name


def _seeds(text: str) -> Iterable[int]:
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise BadArgument(f"--seeds {text}: write a number, A-B, or several with commas")
        if last and int(last) < int(first):
            raise BadArgument(f"--seeds {text}: {part} goes backwards; write {last}-{first}")
        yield from range(int(first), int(last or first) + 1)


def lasting_model(model: str) -> str:
    """A model's name, good in any folder: its file or folder is named by its whole path."""
    kind, _, rest = model.partition(":")
    if kind == "exchange":
        return f"exchange:{Path(rest).resolve()}"
    if kind == "scripted":
        path, _, name = rest.rpartition(":")
        return f"scripted:{Path(path).resolve()}:{name}"
    if kind != "recorded" or (RECORDINGS / f"{rest}.jsonl").is_file():
        return model
    path, plus, inner = rest.partition("+")
    return f"recorded:{Path(path).resolve()}{plus}{lasting_model(inner) if inner else ''}"


def _of_role(text: str, mark: str) -> tuple[str, str]:
    """The role that an option is for, and the rest; without a role it is for all."""
    role, found, rest = text.partition(mark)
    return (role, rest) if found and role.isidentifier() else (DEFAULT_ROLE, text)


def by_role(texts: Iterable[str]) -> dict[str, str]:
    """Models by role, ``none`` left out. Raises BadArgument for two of one role."""
    named: dict[str, str] = {}
    for text in texts:
        role, model = _of_role(text, "=")
        if role in named:
            raise BadArgument(f"--model {text}: {role} has the model {named[role]} already; name each role once")
        named[role] = model
    return {role: model for role, model in named.items() if model != NO_MODEL}


def counts_of(text: str) -> tuple[int, ...]:
    """The numbers of building tasks that were given, without repetitions, in order. Raises BadArgument."""
    numbers = [part.strip() for part in text.split(",")] if text else []
    if wrong := [number for number in numbers if not number.isdecimal()]:
        raise BadArgument(f"--after {text}: {wrong[0] or 'nothing'!r} is no number of tasks; write N, or N,N,N")
    return tuple(sorted(set(map(int, numbers))))


def learning_of(given: dict[str, Any]) -> Learning:
    """Take out of the options what says how rules are built."""
    start = given.pop("start")
    usual = (
        usual_starts(load_environment(given["env"]).name, given["split"] or "")
        if start is None and given["env"]
        else ()
    )
    return Learning(
        start=tuple(filter(None, start.split(","))) if start is not None else usual,
        tasks_per_type=given.pop("tasks_per_type"),
        solved_after=given.pop("solved_after"),
        max_rules=given.pop("max_rules"),
        per_type=given.pop("per_type"),
        libraries_only=given.pop("libraries_only"),
        conclusions=given.pop("conclusions"),
        verify=given.pop("verify"),
        procedures=not given.pop("no_procedures"),
    )


def spending_of(given: dict[str, Any]) -> dict[str, Any]:
    """Take out of the options the budget, the prices and the timeouts that were given. Raises BadArgument."""
    return {
        "budget": _given(Budget, given.pop("budgets", ()), "--budget"),
        "timeouts": _given(Timeouts, given.pop("timeouts", ()), "--timeout"),
        "prices": given.pop("prices", None),
    }


def _given(kind: type[Named], texts: Iterable[str], option: str) -> Named | None:
    asked = pairs(texts, option)
    return kind.model_validate(validated(kind, asked, option).model_dump()) if asked else None
