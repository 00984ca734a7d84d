"""Playing a run in several processes, on this machine or on a Ray cluster."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from planbook.config import Config
from planbook.envs import missing_extra
from planbook.episodes.divergence import Comparison, Sameness
from planbook.episodes.lanes import Executor, Hosting, hand_out
from planbook.episodes.processes import on_this_machine
from planbook.episodes.runner import entries_left, give_up
from planbook.episodes.steering import Steering
from planbook.episodes.worker_player import Orders
from planbook.episodes.workers import Crew, OpenPlaces, Places, Result, Work
from planbook.errors import BadArgument
from planbook.planner import Ending
from planbook.run import Entry, Run, RunFile, recorded_endings
from planbook.spending import paid


def _on_ray() -> OpenPlaces:
    try:
        from planbook.episodes.cluster import check_cluster, on_the_cluster  # Ray takes a second to import
    except ImportError as error:
        raise missing_extra("cluster", "--executor ray") from error
    check_cluster()
    return on_the_cluster


PLACES: Mapping[Executor, Callable[[], OpenPlaces]] = {"processes": lambda: on_this_machine, "ray": _on_ray}


def play_distributed(run: Run, on_ending: Callable[[Entry, Ending], None], hosting: Hosting) -> bool:
    """Play every episode of a run that has no ending yet, see ``run_tasks``.

    Each worker reads from the run's configuration what is known beforehand. Raises BadArgument, MissingRequirement.
    """
    work = Work[Ending](
        lambda worker, entry: worker.ask("play", entry), lambda entry, message: give_up(run, entry, message)
    )
    return _hand_out(run, entries_left(run), work, on_ending, hosting)


def replay_distributed(run: Run, on_comparison: Callable[[Entry, Comparison], None], hosting: Hosting) -> bool:
    """Play every recorded episode again and compare, see ``replay_run``."""
    endings = recorded_endings(run)

    def nothing(entry: Entry, message: str) -> Comparison:
        return Comparison(sameness=Sameness.NOT_COMPARED, event="the worker", expected="an episode", actual=message)

    work = Work(lambda worker, entry: worker.ask("replay", entry, endings.get(entry.index)), nothing)
    return _hand_out(run, run.entries(), work, on_comparison, hosting, to_replay=True)


def check_executor(config: Config, hosting: Hosting) -> None:
    """See that a run can be played as it is asked for, before it begins. Raises BadArgument, MissingRequirement."""
    if hosting.executor == "threads":
        return
    asked = f"--executor {hosting.executor}"
    if config.learning is not None:
        raise BadArgument(f"{asked}: building learns from one episode after the other, in one process; leave it out")
    for model in config.models.values():
        if model.startswith("recorded:") and paid(model) != model:
            raise BadArgument(f"{asked}: {model} writes its recording from one process; leave one of the two out")
    PLACES[hosting.executor]()


def check_reachable(run: Run, places: Places) -> None:
    """See that workers on other machines can open the store. Raises BadArgument."""
    if places.machines > 1 and isinstance(run.store.place, Path):
        raise BadArgument(
            f"{run.store.place} is a file of this machine, and the Ray cluster has {places.machines} machines; keep "
            "the run in PostgreSQL, which all of them can reach: --store postgresql://USER@HOST/DATABASE"
        )


def _hand_out(
    run: Run,
    entries: Sequence[Entry],
    work: Work[Result],
    on_result: Callable[[Entry, Result], None],
    hosting: Hosting,
    *,
    to_replay: bool = False,
) -> bool:
    jobs = min(hosting.jobs, len(entries))
    if not jobs:
        return True
    steering = hosting.steering or Steering()
    orders = Orders(
        run.folder.resolve(),
        run.store.place.resolve() if isinstance(run.store.place, Path) else run.store.place,
        RunFile.read(run.folder),
        hosting.unsafe_no_sandbox,
        hosting.prices and hosting.prices.resolve(),
        run.meter.spent,
        to_replay,
    )
    with PLACES[hosting.executor]()(jobs) as places:
        check_reachable(run, places)
        workers = min(jobs, places.most)
        threads = -(-jobs // workers) if run.config.world.parallel else 1
        crew = Crew(run, orders, places, min(jobs, workers * threads), threads, steering)
        with crew.ticking():
            return hand_out(entries, crew.seats(work), on_result, steering)
