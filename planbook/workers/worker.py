"""Play the episodes of a run in threads of this process. A worker is a thread that plays one episode after another."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Self

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
from planbook.runs import DIVERGED, EpisodeEntry, Run, changed_versions
from planbook.sandbox import Sandbox
from planbook.store import OnEvent
from planbook.workers.control import Switches, append_event, in_threads
from planbook.workers.models import roles_of
from planbook.workers.open_episodes import EpisodeLeaser, OpenEpisodes, current_attempt, record_broken

LOG = logging.getLogger(__name__)


class EpisodeWorker:
    """Plays episodes in one thread. Each worker has its own environment, but workers share the sandbox and the models.

    ``guard`` is called before every action, and may raise EpisodeStopped or BudgetEnded. A ``with`` block closes the
    environment at its end.
    """

    def __init__(
        self, config: Config, sandbox: Sandbox, guard: Callable[[], None] = lambda: None, roles: Roles = NO_MODELS
    ) -> None:
        self.sandbox, self.guard, self.roles = sandbox, guard, roles
        self._config = config
        self._environment: Environment | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop_environment()

    def environment(self) -> Environment:
        """Return the worker's environment. Raises EnvironmentBroken or MissingRequirement if it cannot be created."""
        if self._environment is None:
            environment = self._config.environment
            try:
                self._environment = environment(self._config.environment_options)
            except EnvsError:
                raise
            except Exception as error:
                raise EnvironmentBroken(
                    f"{environment.__name__} could not be created: {type(error).__name__}: {error}"
                ) from error
        return self._environment

    def drop_environment(self) -> None:
        """Close the environment, so that the next episode gets a new one. An error in closing it is only logged."""
        environment, self._environment = self._environment, None
        if environment is not None:
            try:
                environment.close()
            except Exception as error:
                LOG.warning("%s could not be closed: %s: %s", environment.name, type(error).__name__, error)

    def play_arguments(
        self, entry: EpisodeEntry, path: str, journal: Journal, memory: Memory | None = None
    ) -> tuple[Episode, Strategy, BaseModel]:
        """Return the arguments of ``planner.play``: an episode, its planning method, and the method's options.

        ``path`` is the scope under which the events of the episode are recorded in the journal.
        """
        config = self._config
        planning_method = method(config.planner)
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
        return episode, planning_method.play, planning_method.options.model_validate(config.planner_options)


def play_episode(
    run: Run, memory: Memory, entry: EpisodeEntry, worker: EpisodeWorker, on_event: OnEvent | None = None
) -> Ending:
    """Play one episode to its end, or return its recorded ending. If that is BROKEN, close the worker's environment.

    If an attempt at the episode was begun earlier, its recorded part is repeated first. If that is impossible, for
    example because the environment behaves differently, the attempt is recorded as BROKEN, and a new attempt begins.
    """
    while True:
        path, journal, ending = current_attempt(run, entry, on_event)
        if ending is None:
            try:
                ending = play(*worker.play_arguments(entry, path, journal, memory))
            except JournalMismatch as mismatch:
                record_broken(journal, path, DIVERGED, str(mismatch))
                continue
            except MissingRequirement:
                raise
            except EnvsError as error:
                ending = record_broken(journal, path, Outcome.BROKEN.value, str(error))
            else:
                _record_versions(run, worker.environment())
        if ending.outcome is Outcome.BROKEN:
            worker.drop_environment()
        return ending


def _record_versions(run: Run, environment: Environment) -> None:
    """Record the versions that an environment reports only after an episode has begun, such as the browser's.

    They are recorded at most once in an invocation, and only if they differ from those recorded last.
    """
    if run.versions_recorded:
        return
    run.versions_recorded = True
    current, recorded = dict(environment.versions()), run.environment_versions
    if current != recorded:
        if changed := changed_versions(recorded, current):
            LOG.warning("Versions have changed since earlier episodes of this run: %s.", ", ".join(map(str, changed)))
        append_event(run.store, "run", "versions", current)


def play_in_threads(
    run: Run,
    memory: Memory,
    count: int,
    unsafe_no_sandbox: bool,
    switches: Switches,
    on_event: OnEvent | None = None,
    poll: Callable[[], None] = lambda: None,
    open_episodes: OpenEpisodes | None = None,
) -> bool:
    """Play the open episodes of a run in ``count`` threads of this process. Return False if the run was stopped.

    ``poll`` is called in the calling thread: after each ending, and at regular intervals. ``on_event`` is called in an
    episode's thread with each new event. By default, ``open_episodes`` are read from the store.
    """
    leaser = EpisodeLeaser(run, switches, OpenEpisodes(run) if open_episodes is None else open_episodes)
    if not leaser.open_episodes:
        return True
    with worker_factory(run, unsafe_no_sandbox, switches) as open_worker:

        def play_open(notify: Callable[[], None]) -> None:
            with open_worker() as worker:
                while True:
                    with leaser.lease() as entry:
                        if entry is None:
                            return
                        ending = play_episode(run, memory, entry, worker, on_event)
                        leaser.open_episodes.mark_ended(entry, ending)
                    notify()

        threads = min(count, len(leaser.open_episodes))
        return in_threads(threads, play_open, switches.stop, poll, switches.finish_calls)


@contextmanager
def worker_factory(
    run: Run, unsafe_no_sandbox: bool, switches: Switches, roles: Roles | None = None
) -> Iterator[Callable[[], EpisodeWorker]]:
    """Yield a function that creates a worker. All workers share one sandbox, and ``roles`` (by default, the run's)."""

    def guard() -> None:
        switches.guard()
        run.meter.before_action()

    with Sandbox(modules=run.config.environment.modules, unsafe_no_sandbox=unsafe_no_sandbox) as sandbox:
        roles = roles or roles_of(run, switches)
        try:
            yield partial(EpisodeWorker, run.config, sandbox, guard, roles)
        except KeyboardInterrupt:  # the second Ctrl-C: threads still play episodes, but must not record a false ending
            run.store.journals_closed = True
            raise
