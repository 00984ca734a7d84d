"""The models of a run: each is made when its role first speaks."""

import threading
from collections.abc import Callable, Collection
from contextlib import closing
from pathlib import Path

from planbook.config import RECORDINGS, Config
from planbook.envs import nearest_names
from planbook.episodes.recorded_answers import RunAnswers
from planbook.errors import BadArgument
from planbook.planner import METHODS, Roles, method
from planbook.planner.errors import UnknownModel
from planbook.planner.models import Model, RecordedModel, load_model
from planbook.planner.models.waiting import USUAL, Stopped, Timeouts, never
from planbook.planner.roles import DEFAULT, no_model
from planbook.run import Run, is_run

ROLES = ("builder", "consolidator", "formulator")
"""Those who learn; the others play."""


KNOWN_ROLES = {DEFAULT, *ROLES, *(role for each in METHODS.values() for role in each.roles)}


def roles_of(run: Run, stopped: Callable[[], bool], config: Config | None = None) -> Roles:
    """The roles of a run, held to its budget; a model that waits looks at ``stopped``.

    ``config`` names the models, if not the run's own.
    """
    lock, models = threading.Lock(), dict[str, Model]()
    config = config or run.config

    def is_over() -> bool:
        run.meter.check_time()
        return stopped()

    def load(role: str) -> Model:
        spec = config.models.get(role) or config.models.get(DEFAULT)
        if spec is None:
            return no_model(role)
        with lock:
            if spec not in models:
                models[spec] = opened(spec, is_over, run.timeouts, strict=config.strict_recordings)
            return models[spec]

    return Roles(load, config.sampling, meter=run.meter, seed=config.seed)


def opened(spec: str, stopped: Stopped = never, timeouts: Timeouts = USUAL, *, strict: bool = False) -> Model:
    """A model by its name, which it keeps; a recording that ships is named without its folder.

    A recording may be a run, too; a ``strict`` one answers only prompts of the same words. Raises ModelError, BadRun.
    """
    kind, _, name = spec.partition(":")
    if kind == "recorded" and is_run(Path(name)):
        return RunAnswers(name, strict=strict)
    shipped = RECORDINGS / f"{name}.jsonl"
    try:
        named = f"{kind}:{shipped}" if kind == "recorded" and shipped.is_file() else spec
        model = load_model(named, stopped=stopped, timeouts=timeouts)
    except UnknownModel as error:
        told = f"{error}. {_shipped_ones(name)}" if kind == "recorded" and "+" not in name else str(error)
        raise UnknownModel(told) from error
    model.name = spec
    if isinstance(model, RecordedModel):
        model.strict = strict
    return model


def _shipped_ones(name: str) -> str:
    """The recordings that ship: those whose names are like this one, else all."""
    shipped = sorted(file.stem for file in RECORDINGS.glob("*.jsonl"))
    near = nearest_names(Path(name).stem, shipped, most=5)
    return f"Those that ship {'with such a name ' if near else ''}are: {', '.join(near or shipped)}"


def check_roles(config: Config, more: tuple[str, ...] = ()) -> None:
    """See that every role that will be asked has a model, before anything begins. Raises BadArgument, ModelError."""
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    named = set() if config.copies else {*strategy.named(options, config.world.name)}
    roles, known = {*(() if config.copies else strategy.roles), *more, *named}, KNOWN_ROLES | named
    known |= {*strategy.roles}
    if unknown := sorted({*config.models, *config.sampling} - known):
        raise BadArgument(f"nobody plays the role {unknown[0]!r}; the roles are {', '.join(sorted(known))}")
    silent = {role for role in roles if not (config.models.get(role) or config.models.get(DEFAULT))}
    if missing := sorted(silent - _never_asked(config, silent - {*more})):
        raise BadArgument(
            f"{config.title} asks a model ({', '.join(missing)}): name one with --model, for example "
            "--model openai:NAME (with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or recorded:FILE"
        )
    for role in roles - silent:
        opened(config.models.get(role) or config.models[DEFAULT])


def _never_asked(config: Config, roles: Collection[str]) -> set[str]:
    """Those of the roles that the method does not ask in this run. Only a world that was made knows its goals."""
    strategy = method(config.planner)
    if strategy.sometimes.keys().isdisjoint(roles):
        return set()
    options = strategy.options.model_validate(config.planner_options)
    with closing(config.world(config.world_options)) as world:
        return {role for role in roles if not strategy.asks(role, options, world)}
