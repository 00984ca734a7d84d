"""planbook from Python: ``planbook.run``, ``planbook.build`` and ``planbook.test`` do what the commands do.

import planbook

played = planbook.run(env="toy", split="all:4", planner="react", model="openai:gpt-4o-mini", budget={"calls": 100})
print(played.solved, "of", played.tasks)
for episode in played.episodes:
    print(episode["task"], episode["outcome"])
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from planbook import errors
from planbook.commands.learning import build as build_rules
from planbook.commands.playing import play_settings
from planbook.commands.testing import test as play_tests
from planbook.console import quiet
from planbook.envs import Environment, register_class
from planbook.errors import BadArgument
from planbook.options import option_of
from planbook.planner import register_model
from planbook.results import RunResults, read_folder
from planbook.results.rows import EpisodeResult
from planbook.results.summary import Summary
from planbook.settings import Settings

STOP_REASONS = {errors.OUT_OF_BUDGET: "budget", errors.INTERRUPTED: "interrupted"}
"""Maps exit codes to the values of ``PlayedRun.stopped``."""


@dataclass(frozen=True, repr=False)
class PlayedRun:
    """A run and its results, returned by ``run``, ``build`` and ``test``. ``PlayedRun.read`` reads any earlier run.

    The run stays in its ``folder``. Pass this folder to `planbook report` or `planbook show`.
    """

    folder: Path
    stopped: str = ""
    """Why the run ended early: "budget" or "interrupted"; empty if it finished."""

    @classmethod
    def read(cls, folder: Path | str) -> Self:
        """Read the run in a folder. Raises BadRun if the folder holds no run, or if the run cannot be read."""
        run = cls(Path(folder))
        _ = run.results  # read now, so that a bad folder is reported here
        return run

    @cached_property
    def results(self) -> RunResults:
        """The results of all episodes, with the counts and the cost."""
        return read_folder(self.folder)

    @property
    def solved(self) -> int:
        """Number of tasks solved."""
        return self.results.summary().solved

    @property
    def tasks(self) -> int:
        """Number of tasks, including those that were not played."""
        return self.results.summary().tasks

    @property
    def summary(self) -> dict[str, Any]:
        """The summary that ``planbook run --json`` prints, except that ``seconds`` covers all invocations."""
        return self.results.summary().model_dump(mode="json")

    @property
    def episodes(self) -> list[dict[str, Any]]:
        """A row for each episode, in order: ``pandas.DataFrame(played.episodes)`` turns them into a table.

        ``score`` is between 0 and 1, ``money`` is in US dollars (None if a price is unknown), and ``seconds`` excludes
        pauses.
        """
        return [_row(result) for result in self.results.episodes.values()]

    def __repr__(self) -> str:
        """Describe the run in one line."""
        stopped = f", stopped ({self.stopped})" if self.stopped else ""
        cost = self.results.cost
        return f"<PlayedRun {self.solved} of {self.tasks} solved, {cost.calls} model calls{stopped}, in {self.folder}>"


def _row(result: EpisodeResult) -> dict[str, Any]:
    task, spent = result.task, result.spent
    return {
        "index": result.index,
        "task": task.id,
        "type": task.type,
        "split": task.split,
        "seed": task.seed,
        "repeat": result.repeat,
        "goal": task.goal,
        "outcome": result.outcome.value,
        "cause": result.ending.cause,
        "solved": result.solved,
        "score": result.ending.verdict.score,
        "actions": spent.actions,
        "calls": spent.calls,
        "tokens": spent.tokens,
        "money": spent.money,
        "seconds": result.seconds,
    }


def run(*, verbose: bool = False, **settings: Any) -> PlayedRun:
    """Play tasks of an environment with a planning method, as `planbook run` does.

    Every option of the command is a keyword argument, named after its field in ``planbook.settings.Settings``:

    - ``env``: a name, FILE.py:Class, an Environment class, or an instance of one. Only the class and the options of an
      instance are used, since planbook creates its own instances. A class that is not in a file is recorded as
      ``object:NAME``; such a run can be resumed only by passing the class again, and its episodes are played in
      threads.
    - ``planner``: by default "procedures"; ``planner_options`` and ``env_options`` are mappings.
    - ``split`` ("valid_unseen:20"), ``types``, ``seeds`` ("0-9", or numbers), ``tasks`` (ids), ``repeats``.
    - ``model``: a name, such as "openai:NAME" or "recorded:FILE", or an object that implements the Model protocol. The
      object may be called from several threads, and is recorded as ``object:NAME``. To use several models, give
      ``models`` instead, which maps roles to models.
    - ``sampling``: a mapping such as {"temperature": 0.7}, or a dict that maps each role to such a mapping.
    - ``actions``, ``limits``, ``budget`` (calls, tokens, actions, seconds, money in dollars), ``timeouts`` (seconds).
    - ``jobs``, ``executor``: how many episodes are played at the same time, and where.
    - ``out``: the run's folder. If it holds the same run, that run is resumed. ``resume`` names a run to resume.

    With ``verbose``, this function prints what the command prints. A run that the budget or Ctrl-C ends early is
    returned like a finished one; ``PlayedRun.stopped`` says why it ended. A second Ctrl-C, while the run is stopping,
    raises KeyboardInterrupt immediately.

    Raises an error with the message that the command prints: BadArgument for a wrong value, BadRun for a folder that
    cannot be used, EnvsError, PlannerError (ModelError for an unavailable model), ManualsError or SandboxError.

        played = planbook.run(env="alfworld", split="generated:6", jobs=2)
        assert played.solved == played.tasks
    """
    return _play(lambda chosen: play_settings(chosen, "procedures"), settings, verbose)


def build(*, verbose: bool = False, **settings: Any) -> PlayedRun:
    """Learn rules, skills and procedures from episodes, one after the other, as `planbook build` does.

    Takes the arguments of ``run``, and these, which control learning: ``start``, ``tasks_per_type``, ``solved_after``,
    ``max_rules``, ``libraries_only``, ``procedures``, ``conclusions``, ``verify`` and ``sources``.
    The folder ``learned`` in the run's folder holds what was learned. Raises the errors of ``run``.

        built = planbook.build(env="alfworld", split="generated", model="openai:gpt-4o", tasks_per_type=3)
        tested = planbook.test(env="alfworld", library=built.folder)
    """
    return _play(build_rules, settings, verbose)


def test(*, verbose: bool = False, **settings: Any) -> PlayedRun:  # noqa: PT028
    """Play test tasks with the knowledge from earlier runs, as `planbook test` does, and learn nothing from them.

    Takes the arguments of ``run``. ``library`` is a run of ``build`` (or its folder); ``after=N`` uses the knowledge
    as it was after N tasks. Without a model, the stored procedures are played. Raises the errors of ``run``.

        tested = planbook.test(env="alfworld", split="valid_unseen", library=built.folder, after=12)
    """
    return _play(_play_tests, settings, verbose)


def _play_tests(settings: Settings) -> tuple[int, Summary]:
    if len(settings.after) > 1:
        raise BadArgument("after: a learning curve takes several runs; call planbook.test with one number at a time")
    code, summary = play_tests(settings, table=False)
    assert isinstance(summary, Summary)
    return code, summary


def _play(play: Callable[[Settings], tuple[int, Summary]], arguments: dict[str, Any], verbose: bool) -> PlayedRun:
    settings = _settings(arguments)
    with nullcontext() if verbose else quiet():
        code, summary = play(settings)
    return PlayedRun(Path(summary.run), STOP_REASONS.get(code, ""))


def _settings(arguments: dict[str, Any]) -> Settings:
    """Return the arguments as settings. Each object is replaced by the name under which the run records it.

    Raises BadArgument if an argument is invalid.
    """
    values = {name: value for name, value in arguments.items() if value is not None}
    if "model" in values:
        if "models" in values:
            raise BadArgument("model names one model for all roles, models maps roles to models; give one of the two")
        values["models"] = {"default": values.pop("model")}
    objects = {**_environment(values.get("env")), **_models(values.get("models"))}
    if "resume" in values:  # run.json already names the objects, and the calls above have registered them
        values = {name: value for name, value in values.items() if name not in objects}
    else:
        values |= {name: value for name, value in objects.items() if name != "env_options" or name not in values}
    if isinstance(library := values.get("library"), PlayedRun | Path):
        values["library"] = str(library.folder if isinstance(library, PlayedRun) else library)
    return Settings.of(**values)


def _environment(env: Any) -> dict[str, Any]:
    if isinstance(env, Environment):
        options = env.options.model_dump(mode="json", exclude_unset=True)
        return {"env": register_class(type(env)), "env_options": options}
    return {"env": register_class(env)} if isinstance(env, type) and issubclass(env, Environment) else {}


def _models(models: Any) -> dict[str, Any]:
    if not isinstance(models, Mapping) or all(isinstance(model, str) for model in models.values()):
        return {}
    names, objects = dict[str, str](), dict[str, Any]()
    for role, model in models.items():
        name = names[role] = _model_name(model)
        if not isinstance(model, str) and objects.setdefault(name, model) is not model:
            raise BadArgument(f"models: two objects have the same name, {name}; give each its own name")
    return {"models": names}


def _model_name(model: Any) -> str:
    if isinstance(model, str):
        return model
    if isinstance(model, Mapping):
        raise BadArgument("model: this must be a single model; use models= to map roles to models")
    if not hasattr(model, "complete"):
        raise BadArgument(
            f"model: {model!r} is neither a name nor an object with complete(messages, sampling, on_text=None)"
        )
    return register_model(model)


def _signature(*excluded_groups: str) -> inspect.Signature:
    """Return the signature that ``help`` shows: a keyword argument for each setting outside the excluded groups."""
    defaults = {"env": "", "planner": "", "model": None}
    for name, field in Settings.model_fields.items():
        if (option := option_of(name, field)) and option.group not in excluded_groups:
            defaults[name] = field.get_default(call_default_factory=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, default=default) for name, default in [*defaults.items(), ("verbose", False)]
    ]
    return inspect.Signature(parameters, return_annotation=PlayedRun)


run.__signature__ = _signature("Learning")  # type: ignore[attr-defined]
build.__signature__ = _signature()  # type: ignore[attr-defined]
test.__signature__ = _signature("Learning", "Resuming")  # type: ignore[attr-defined]
test.__test__ = False  # type: ignore[attr-defined]  # pytest would collect it where it is imported
