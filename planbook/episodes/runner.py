"""Playing the tasks of a run, and never one of them twice."""

from collections.abc import Callable

from planbook.config import Config
from planbook.envs import Environment, EnvsError, MissingRequirement
from planbook.episodes.lanes import Hosting, Lane, side_by_side
from planbook.episodes.role_models import roles_of
from planbook.planner import Ending, Episode, EpisodeSettings, Journal, JournalMismatch, Memory, Outcome, method, play
from planbook.run import DIVERGED, Entry, Run, recorded_endings, set_aside
from planbook.store import Watch, started_over


def run_tasks(
    run: Run,
    memory: Memory,
    on_ending: Callable[[Entry, Ending], None],
    *,
    hosting: Hosting | None = None,
    watch: Watch | None = None,
) -> bool:
    """Play every episode of a run that has no ending yet. Returns False if Ctrl-C stopped it.

    ``on_ending`` is called in this thread, as each episode ends; ``watch`` in the episode's own, at each new event. A
    run that was stopped or killed is taken up again by calling this once more: what ended is not played again, and what
    had begun repeats its recorded part.
    """
    config = run.config
    return side_by_side(
        entries_left(run),
        config.world,
        config.world_options,
        lambda entry, lane: play_out(run, memory, entry, lane, watch),
        on_ending,
        hosting or Hosting(),
        run.meter.before_action,
        lambda stopped: roles_of(run, stopped),
    )


def entries_left(run: Run) -> list[Entry]:
    """The episodes of a run that have no ending yet."""
    played = recorded_endings(run)
    return [entry for entry in run.entries() if entry.index not in played]


def play_entry(
    config: Config, entry: Entry, path: str, lane: Lane, journal: Journal, memory: Memory | None = None
) -> Ending:
    """Play one episode of a run with the lane's world. Raises JournalMismatch and EpisodeStopped."""
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    settings = EpisodeSettings(
        config.actions, config.limits, f"{config.seed}/{entry.repeat}", config.stream, config.dry_run
    )
    episode = Episode(
        entry.task,
        lane.world(),
        lane.sandbox,
        journal,
        settings=settings,
        path=path,
        memory=memory,
        roles=lane.roles.seeded(config.seed + entry.repeat),
        guard=lane.guard,
    )
    return play(episode, strategy.play, options)


def play_out(run: Run, memory: Memory, entry: Entry, lane: Lane, watch: Watch | None = None) -> Ending:
    """Play one episode to its end; a lane in which one came out BROKEN gets a new world.

    Where the recorded part of an episode cannot be repeated, that is counted as BROKEN, and the episode starts over.
    """

    def play(path: str, journal: Journal) -> Ending:
        return _play(run, memory, entry, path, lane, journal)

    ending = _to_its_end(run, entry, play, watch)
    if ending.outcome is Outcome.BROKEN:
        lane.drop_world()
    return ending


def give_up(run: Run, entry: Entry, message: str) -> Ending:
    """Count an episode as BROKEN that nobody can play, unless it has an ending."""
    run.store.ledger.release_below(entry.path)

    def break_off(path: str, journal: Journal) -> Ending:
        return _write_broken(journal, path, Outcome.BROKEN.value, message)

    return _to_its_end(run, entry, break_off)


def _to_its_end(run: Run, entry: Entry, play: Callable[[str, Journal], Ending], watch: Watch | None = None) -> Ending:
    """The recorded ending, else the one that ``play`` comes to.

    After one that diverged, or was set aside, it is that of a new scope.
    """
    path, restart, aside = entry.path, 0, set_aside(run)
    while True:
        journal = run.journal(path, watch)
        recorded = journal.get(path, "outcome", 0)
        ending = play(path, journal) if recorded is None else Ending.model_validate(recorded)
        if ending.cause != DIVERGED and path not in aside:
            return ending
        restart += 1
        path = started_over(entry.path, restart)


def _play(run: Run, memory: Memory, entry: Entry, path: str, lane: Lane, journal: Journal) -> Ending:
    try:
        ending = play_entry(run.config, entry, path, lane, journal, memory)
    except JournalMismatch as mismatch:
        return _write_broken(journal, path, DIVERGED, str(mismatch))
    except MissingRequirement:
        raise
    except EnvsError as error:
        return _write_broken(journal, path, Outcome.BROKEN.value, str(error))
    _record_versions(run, lane.world())
    return ending


def _write_broken(journal: Journal, path: str, cause: str, message: str) -> Ending:
    ending = Ending(outcome=Outcome.BROKEN, cause=cause, message=message)
    journal.put(path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def _record_versions(run: Run, world: Environment) -> None:
    """What the world is made of: for certain it knows that only after an episode has begun.

    It is recorded once, and again where a later sitting finds it changed (a browser that was updated meanwhile).
    """
    if run.noted_versions:
        return
    run.noted_versions = True
    now = dict(world.versions())
    run.store.put_once("run", "versions", 0, lambda: now)
    recorded = [dict(row.body) for row in run.store.events("run", "versions")]
    if now != recorded[-1]:
        run.store.put_once("run", "versions", len(recorded), lambda: now)
