"""Open the language models of a run. Each role, such as ``planner``, has a model. It is opened by the first call."""

import threading
from collections.abc import Callable, Set
from contextlib import closing
from functools import partial
from pathlib import Path

from planbook.config import RECORDINGS, Config
from planbook.errors import BadArgument
from planbook.planner import (
    DEFAULT_ROLE,
    METHODS,
    USUAL_TIMEOUTS,
    IsStopped,
    Model,
    Roles,
    Timeouts,
    UnknownModel,
    method,
    never_stopped,
    no_model,
)
from planbook.runs import Run, is_run
from planbook.sandbox import nearest_names

LEARNING_ROLES = ("builder", "consolidator", "formulator")
"""The roles of models that write rules and manuals. All other roles are for playing episodes."""


def roles_of(run: Run, stopped: Callable[[], bool], config: Config | None = None) -> Roles:
    """Return the roles of a run. Their model calls count towards the run's budget.

    While a model waits, it calls ``stopped``, and gives up if the result is True. If ``config`` is given, it names the
    models instead of the run's own configuration. In a forked run, the replies that the original episode got before the
    fork are repeated first. Raises BadRun if the run of the original episode cannot be read.
    """
    lock, models = threading.Lock(), dict[str, Model]()
    config = config or run.config
    with_recorded: Callable[[Model], Model] | None = None
    if run.forked:
        from planbook.workers.recorded import ReplyRepeater, replies_before

        with_recorded = partial(ReplyRepeater, replies_before(run.forked))

    def is_over() -> bool:
        run.meter.check_time()
        return stopped()

    def load(role: str) -> Model:
        spec = config.models.get(role) or config.models.get(DEFAULT_ROLE)
        if spec is None:
            return no_model(role)
        with lock:
            if spec not in models:
                model = open_model(spec, is_over, run.file.timeouts, strict=config.strict_recordings)
                models[spec] = with_recorded(model) if with_recorded else model
            return models[spec]

    return Roles(load, config.sampling, meter=run.meter, seed=config.seed)


def open_model(
    spec: str, stopped: IsStopped = never_stopped, timeouts: Timeouts = USUAL_TIMEOUTS, *, strict: bool = False
) -> Model:
    """Open the model that is specified by ``spec``, such as openai:NAME or recorded:NAME.

    In recorded:NAME, the NAME is that of a shipped recording, or the path of a file or of a run's folder. With
    ``strict``, a recording answers a prompt only if its wording is the recorded one. Raises ModelError if the model
    cannot be opened, or BadRun if the run in the folder cannot be read.
    """
    from planbook.planner import RecordedModel, load_model

    kind, _, name = spec.partition(":")
    if kind == "recorded" and is_run(Path(name)):
        from planbook.workers.recorded import RecordedRunModel

        return RecordedRunModel(name, strict=strict)
    shipped = RECORDINGS / f"{name}.jsonl"
    try:
        full_name = f"{kind}:{shipped}" if kind == "recorded" and shipped.is_file() else spec
        model = load_model(full_name, stopped=stopped, timeouts=timeouts)
    except UnknownModel as error:
        message = f"{error}. {_list_shipped(name)}" if kind == "recorded" and "+" not in name else str(error)
        raise UnknownModel(message) from error
    if kind != "object":
        model.name = spec
    if isinstance(model, RecordedModel):
        model.strict = strict
    return model


def _list_shipped(name: str) -> str:
    """Return a sentence that lists the shipped recordings with names similar to ``name``, or all if there are none."""
    shipped = sorted(file.stem for file in RECORDINGS.glob("*.jsonl"))
    similar = nearest_names(Path(name).stem, shipped, limit=5)
    return f"Shipped recordings{' with similar names' if similar else ''}: {', '.join(similar or shipped)}"


def check_roles(config: Config, extra_roles: tuple[str, ...] = ()) -> None:
    """Check that there is a model for every role that the run uses, and that each of these models can be opened.

    ``extra_roles`` are roles that the run uses in addition to those of the planning method. Raises BadArgument, BadRun,
    ModelError or UnknownEnvironment if a check fails.
    """
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    from_options = set() if config.copies else {*strategy.roles_from_options(options, config.environment.name)}
    roles = {*(() if config.copies else strategy.roles), *extra_roles, *from_options}
    allowed = {DEFAULT_ROLE, *LEARNING_ROLES, *strategy.roles, *from_options}
    if not {*config.models, *config.sampling} <= allowed:
        allowed |= {role for other in METHODS.values() for role in other.roles}
    if unknown := sorted({*config.models, *config.sampling} - allowed):
        raise BadArgument(f"there is no role {unknown[0]!r}; the roles are {', '.join(sorted(allowed))}")
    models = {role: config.models.get(role) or config.models.get(DEFAULT_ROLE) for role in sorted(roles)}
    without_model = {role for role, model in models.items() if not model}
    if missing := sorted(without_model - _never_asked(config, without_model - {*extra_roles})):
        raise BadArgument(
            f"{config.title} asks a model ({', '.join(missing)}): name one with --model, for example "
            "--model openai:NAME (with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or recorded:FILE"
        )
    for model in dict.fromkeys(filter(None, models.values())):
        open_model(model)


def _never_asked(config: Config, roles: Set[str]) -> set[str]:
    """Return those of the ``roles`` that the planning method does not use in this run.

    Some methods use a role only in certain environments. Then this function opens the environment.
    """
    strategy = method(config.planner)
    uncertain = strategy.conditional_roles.keys() & roles
    if not uncertain:
        return set()
    options = strategy.options.model_validate(config.planner_options)
    with closing(config.environment(config.environment_options)) as environment:
        return {role for role in uncertain if not strategy.asks(role, options, environment)}
