"""The models of a run, opened when a role first asks. Their modules are imported only then."""

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
    Model,
    Roles,
    Stopped,
    Timeouts,
    UnknownModel,
    method,
    never_stopped,
    no_model,
)
from planbook.runs import Run, is_run
from planbook.sandbox import nearest_names

ROLES = ("builder", "consolidator", "formulator")
"""The roles that learn; all others play."""


def roles_of(run: Run, stopped: Callable[[], bool], config: Config | None = None) -> Roles:
    """Return the roles of a run, metered by its budget; a waiting model checks ``stopped``.

    ``config`` replaces the run's own configuration of models. The models of a forked episode repeat its recorded
    replies first. Raises BadRun.
    """
    lock, models = threading.Lock(), dict[str, Model]()
    config = config or run.config
    with_recorded: Callable[[Model], Model] | None = None
    if run.forked:
        from planbook.workers.recorded import RepeatedModel, replies_before

        with_recorded = partial(RepeatedModel, replies_before(run.forked))

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
    spec: str, stopped: Stopped = never_stopped, timeouts: Timeouts = USUAL_TIMEOUTS, *, strict: bool = False
) -> Model:
    """Open a model by its name; a shipped recording is named without its folder.

    A run can serve as a recording. A ``strict`` recording answers only prompts in the recorded wording. Raises
    ModelError, BadRun.
    """
    from planbook.planner import RecordedModel, load_model

    kind, _, name = spec.partition(":")
    if kind == "recorded" and is_run(Path(name)):
        from planbook.workers.recorded import RunAnswers

        return RunAnswers(name, strict=strict)
    shipped = RECORDINGS / f"{name}.jsonl"
    try:
        named = f"{kind}:{shipped}" if kind == "recorded" and shipped.is_file() else spec
        model = load_model(named, stopped=stopped, timeouts=timeouts)
    except UnknownModel as error:
        message = f"{error}. {_list_shipped(name)}" if kind == "recorded" and "+" not in name else str(error)
        raise UnknownModel(message) from error
    if kind != "object":
        model.name = spec
    if isinstance(model, RecordedModel):
        model.strict = strict
    return model


def _list_shipped(name: str) -> str:
    """Return a sentence that lists the shipped recordings with similar names, or all of them if there are none."""
    shipped = sorted(file.stem for file in RECORDINGS.glob("*.jsonl"))
    near = nearest_names(Path(name).stem, shipped, limit=5)
    return f"Shipped recordings{' with similar names' if near else ''}: {', '.join(near or shipped)}"


def check_roles(config: Config, more: tuple[str, ...] = ()) -> None:
    """Check that every role that will be asked, ``more`` included, has a model, and that each model can be opened.

    Raises BadArgument, BadRun, ModelError, UnknownEnvironment.
    """
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    from_options = set() if config.copies else {*strategy.named(options, config.environment.name)}
    roles = {*(() if config.copies else strategy.roles), *more, *from_options}
    allowed = {DEFAULT_ROLE, *ROLES, *strategy.roles, *from_options}
    if not {*config.models, *config.sampling} <= allowed:
        allowed |= {role for other in METHODS.values() for role in other.roles}
    if unknown := sorted({*config.models, *config.sampling} - allowed):
        raise BadArgument(f"there is no role {unknown[0]!r}; the roles are {', '.join(sorted(allowed))}")
    models = {role: config.models.get(role) or config.models.get(DEFAULT_ROLE) for role in sorted(roles)}
    without_model = {role for role, model in models.items() if not model}
    if missing := sorted(without_model - _never_asked(config, without_model - {*more})):
        raise BadArgument(
            f"{config.title} asks a model ({', '.join(missing)}): name one with --model, for example "
            "--model openai:NAME (with OPENAI_API_KEY, and OPENAI_BASE_URL for another server), or recorded:FILE"
        )
    for model in dict.fromkeys(filter(None, models.values())):
        open_model(model)


def _never_asked(config: Config, roles: Set[str]) -> set[str]:
    """Return the roles that the method does not ask in this run. Opens an environment, since its goals may decide."""
    strategy = method(config.planner)
    uncertain = strategy.sometimes.keys() & roles
    if not uncertain:
        return set()
    options = strategy.options.model_validate(config.planner_options)
    with closing(config.environment(config.environment_options)) as environment:
        return {role for role in uncertain if not strategy.asks(role, options, environment)}
