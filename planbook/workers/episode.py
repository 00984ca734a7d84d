"""Play one episode of a run to its end, from the beginning, or by repeating its recorded part first."""

import logging
from collections.abc import Callable

from pydantic import BaseModel

from planbook.config import Config
from planbook.envs import Environment, EnvironmentBroken, EnvsError, MissingRequirement
from planbook.planner import (
    NO_MODELS,
    Ending,
    Episode,
    EpisodeSettings,
    Journal,
    JournalMismatch,
    Memory,
    Outcome,
    Roles,
    Strategy,
    method,
    play,
)
from planbook.runs import DIVERGED, Entry, Run, superseded_scopes
from planbook.sandbox import Sandbox
from planbook.store import Watch, restart_scope
from planbook.workers.control import append_event

LOG = logging.getLogger(__name__)


class EpisodeWorker:
    """Plays episodes in one thread. Each worker has its own environment; the sandbox and the models are shared.

    ``guard`` is called before every action, and may raise EpisodeStopped or BudgetEnded.
    """

    def __init__(
        self, config: Config, sandbox: Sandbox, guard: Callable[[], None] = lambda: None, roles: Roles = NO_MODELS
    ) -> None:
        self.sandbox, self.guard, self.roles = sandbox, guard, roles
        self._config = config
        self._environment: Environment | None = None

    def environment(self) -> Environment:
        """Return the worker's environment. Raises EnvironmentBroken or MissingRequirement if it cannot be made."""
        if self._environment is None:
            environment = self._config.environment
            try:
                self._environment = environment(self._config.environment_options)
            except EnvsError:
                raise
            except Exception as error:
                raise EnvironmentBroken(
                    f"{environment.__name__} could not be made: {type(error).__name__}: {error}"
                ) from error
        return self._environment

    def drop_environment(self) -> None:
        """Close the environment, so that the next episode gets a new one. Errors are only logged."""
        environment, self._environment = self._environment, None
        if environment is not None:
            try:
                environment.close()
            except Exception as error:
                LOG.warning("%s could not be closed: %s: %s", environment.name, type(error).__name__, error)

    def play_arguments(
        self, entry: Entry, path: str, journal: Journal, memory: Memory | None = None
    ) -> tuple[Episode, Strategy, BaseModel]:
        """Return the arguments of ``play``: an episode, the planning method, and the method's options."""
        config = self._config
        strategy = method(config.planner)
        settings = EpisodeSettings(
            config.actions, config.limits, f"{config.seed}/{entry.repeat}", config.stream, config.dry_run
        )
        episode = Episode(
            entry.task,
            self.environment(),
            self.sandbox,
            journal,
            settings=settings,
            path=path,
            memory=memory,
            roles=self.roles.seeded(config.seed + entry.repeat),
            guard=self.guard,
            task_changes=config.task_overrides(entry.task),
        )
        return episode, strategy.play, strategy.options.model_validate(config.planner_options)


def play_episode(run: Run, memory: Memory, entry: Entry, worker: EpisodeWorker, watch: Watch | None = None) -> Ending:
    """Play one episode to its end. If it ends BROKEN, the worker gets a new environment.

    If the recorded part of an attempt cannot be repeated, the attempt is recorded as BROKEN, and a new one begins.
    """
    while True:
        path, journal, ending = _current_attempt(run, entry, watch)
        if ending is None:
            try:
                ending = play(*worker.play_arguments(entry, path, journal, memory))
            except JournalMismatch as mismatch:
                _record_broken(journal, path, DIVERGED, str(mismatch))
                continue
            except MissingRequirement:
                raise
            except EnvsError as error:
                ending = _record_broken(journal, path, Outcome.BROKEN.value, str(error))
            else:
                _record_versions(run, worker.environment())
        if ending.outcome is Outcome.BROKEN:
            worker.drop_environment()
        return ending


def give_up(run: Run, entry: Entry, message: str) -> Ending:
    """Record the ending BROKEN for an episode that no worker can play, unless it has ended already."""
    path, journal, ending = _current_attempt(run, entry)
    return ending or _record_broken(journal, path, Outcome.BROKEN.value, message)


def _current_attempt(run: Run, entry: Entry, watch: Watch | None = None) -> tuple[str, Journal, Ending | None]:
    """Return the scope of an episode's current attempt, the attempt's journal, and its ending if it has one.

    An attempt that diverged from its record, or whose ending no longer counts, is followed by one in a new scope.
    """
    path, restarts, excluded = entry.path, 0, superseded_scopes(run)
    while True:
        journal = run.journal(path, watch)
        recorded = journal.get(path, "outcome", 0)
        ending = None if recorded is None else Ending.model_validate(recorded)
        if ending is None or (ending.cause != DIVERGED and path not in excluded):
            return path, journal, ending
        restarts += 1
        path = restart_scope(entry.path, restarts)


def _record_broken(journal: Journal, path: str, cause: str, message: str) -> Ending:
    ending = Ending(outcome=Outcome.BROKEN, cause=cause, message=message)
    journal.put(path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def _record_versions(run: Run, environment: Environment) -> None:
    """Record the versions that an environment knows only after an episode has begun, unless they are recorded already.

    They may differ from the versions in an earlier invocation, for example after an update of the browser.
    """
    if run.versions_recorded:
        return
    run.versions_recorded = True
    current = dict(environment.versions())
    recorded = [dict(row.body) for row in run.store.events("run", "versions")]
    if recorded[-1:] != [current]:
        append_event(run.store, "run", "versions", current)
