"""An open run: everything that was recorded while its tasks were played, in one folder.

``run.json`` holds the configuration, inputs and versions. The events are in ``run.db``, or in a PostgreSQL schema
that ``run.json`` names.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from planbook.atomic_files import TEMPORARY_SUFFIX, open_atomic
from planbook.config import Config, InvocationSettings
from planbook.envs import Task
from planbook.errors import BadArgument, BadRun
from planbook.options import differing_parts
from planbook.planner import (
    INVOCATION,
    Body,
    Budget,
    Ending,
    EventKind,
    Meter,
    Outcome,
    Trajectory,
    amount_of,
    read_trajectory,
)
from planbook.runs.folder import (
    CONFIG_FILE,
    GRAPH_PLANNER,
    EpisodeEntry,
    Fork,
    Imported,
    LibraryRun,
    RunFile,
    RunInputs,
    claim_folder,
    declarations_of,
    describe_difference,
    index_of,
    is_claimed,
    is_run,
)
from planbook.runs.installed import versions
from planbook.spending import SECONDS, Pricing, check_money, load_pricing, spent_so_far
from planbook.store import EpisodeJournal, Event, OnEvent, Store, create_schema, recorded_location, without_password

STORE_FILE = "run.db"
PRICES_FILE = "prices.json"
"""Name of the run's own price table. The file exists only if the user has given the run a price table."""
FORMULATOR_SHARE = 0.1
"""A run of `planbook build` reserves this share of its budget for writing the manual, unless the user gives another."""
PAUSED = "paused"
"""Key in the body of an event that begins a pause of an invocation."""
OWN_FILES = (CONFIG_FILE, f"{CONFIG_FILE}.*{TEMPORARY_SUFFIX}", STORE_FILE, f"{STORE_FILE}-*", "run.new")
"""Patterns of files that a run may leave if it is killed while it starts. An older planbook wrote ``run.new``."""


class Run:
    """An open run. ``file`` is the content of its run.json, and ``store`` holds its events.

    An invocation is one command that plays the run. A run has several invocations if it is resumed.
    """

    def __init__(self, folder: Path, file: RunFile, store: Store, claim_fd: int | None = None) -> None:
        self.folder, self.config, self.begun, self.versions = folder, file.config, file.begun, file.versions
        self.initial_inputs, self.forked, self.imported = file.initial_inputs, file.forked, file.imported
        self.unjudgeable = file.unjudgeable
        self.store, self._claim_fd, self.file = store, claim_fd, file
        self.meter = Meter()
        self.is_new = False
        """True if this process has created the run, so that its inputs cannot have changed since it began."""
        self.versions_recorded = False
        """True once this process has recorded the environment's versions."""

    @classmethod
    def create(
        cls,
        folder: Path,
        config: Config,
        tasks: Sequence[Task],
        *,
        store: str | None = None,
        inputs: RunInputs | None = None,
        rerun_of: str = "",
        forked: Fork | None = None,
        unjudgeable: Mapping[str, int] = {},
    ) -> Self:
        """Create a run in a folder. If the folder holds a run with the same configuration, open that run to play it.

        ``store`` is the URL of a PostgreSQL database for the events. By default, they are in a file in the folder.
        ``inputs`` holds the digests of the inputs. ``rerun_of`` is the folder of the run that this one repeats.
        ``forked`` describes the episode that the run's only episode continues. ``unjudgeable`` maps each reason why
        tasks cannot be judged to the number of tasks that were left out for this reason.

        ``run.json`` is written last. If it is missing, but the folder has other files of a run, a run was killed while
        it started there, and these files are deleted.

        Raises BadRun if the folder holds a run with other settings, holds files that are not a run's, or cannot be
        used; BadArgument if the URL is wrong; or MissingRequirement if the driver for PostgreSQL is missing.
        """
        with ExitStack() as cleanup:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                claim = claim_folder(folder)
                cleanup.callback(os.close, claim)
                files = {path.name for path in folder.iterdir()}
            except OSError as error:
                raise BadRun(f"{folder} cannot hold a run: {error.strerror}; name another folder with --out") from error
            if CONFIG_FILE in files:
                cleanup.close()
                return cls._open_same(folder, config, store)
            if foreign := sorted(name for name in files if not any(fnmatchcase(name, own) for own in OWN_FILES)):
                raise BadRun(f"{folder} holds other files ({foreign[0]}), but no run; name another folder with --out")
            for name in files:
                (folder / name).unlink()
            schema = create_schema(store) if store else None
            file = RunFile(
                config=config,
                begun=datetime.now(UTC).isoformat(timespec="seconds"),
                store=schema and schema.redacted(),
                initial_inputs=inputs,
                library_run=_library_run(config.library_folder),
                rerun_of=rerun_of,
                forked=forked,
                unjudgeable=dict(unjudgeable),
                versions=dict(versions()),
                **declarations_of(config.env),
            )
            run = cls(folder, file, cleanup.enter_context(closing(Store(schema or folder / STORE_FILE))), claim)
            run.is_new = True
            run.store.claim()
            run._record_entries(tasks)
            file.write(folder)
            cleanup.pop_all()
        return run

    @classmethod
    def open(cls, folder: Path, *, to_play: bool = False, store: str | None = None, graphs: bool = False) -> Self:
        """Open an existing run. With ``to_play``, also claim it for this process.

        ``store`` is the URL of the run's database, which may contain the password (``run.json`` does not contain it).
        With ``graphs``, a run of a prompt graph is accepted, too; it has no environment. Raises BadRun if the folder
        holds no run, if the run cannot be read, or if it cannot be played.
        """
        file = RunFile.read(folder)
        if file.config.planner == GRAPH_PLANNER and not graphs:
            raise BadRun(
                f"{folder} holds passes of a prompt graph, without an environment; continue them with "
                "`planbook graph run --out`, or show them with `planbook show` or `planbook report`"
            )
        if file.store is None and not (folder / STORE_FILE).exists():
            raise BadRun(f"{folder} holds no run: there is no {STORE_FILE}, which would hold its events; restore it")
        if file.store is None and not (folder / STORE_FILE).stat().st_size:
            raise BadRun(f"{folder / STORE_FILE} cannot be read as a run's store: it is empty; restore it")
        if to_play and file.imported is not None:
            raise BadRun(
                f"{folder} was imported, so it cannot be played or extended; learn from it with `planbook build --from`"
            )
        with ExitStack() as cleanup:
            claim = claim_folder(folder) if to_play else None
            if claim is not None:
                cleanup.callback(os.close, claim)
            location = recorded_location(file.store, store) if file.store else folder / STORE_FILE
            opened_store = cleanup.enter_context(closing(Store(location, to_write=to_play)))
            if to_play:
                opened_store.claim()
            cleanup.pop_all()
        return cls(folder, file, opened_store, claim)

    @property
    def prices(self) -> Path | None:
        """The path of the run's own price table, or None if the run uses the shipped price table."""
        path = self.folder / PRICES_FILE
        return path if path.is_file() else None

    @property
    def pricing(self) -> Pricing:
        """The function that prices replies with the run's price table. Raises BadPrices if the table is invalid."""
        return load_pricing(self.prices)

    @property
    def environment_versions(self) -> dict[str, str]:
        """The versions that the environment has reported so far, for example of a game or a browser."""
        rows = self.store.events("run", "versions")
        return {name: str(version) for row in rows for name, version in row.body.items()}

    @property
    def is_running(self) -> bool:
        """True while a process plays the run, on this machine or on another one that uses the same database."""
        return is_claimed(self.folder) or self.store.is_claimed()

    @classmethod
    def _open_same(cls, folder: Path, config: Config, store: str | None) -> Self:
        run = cls.open(folder, to_play=True, store=store, graphs=True)
        new, existing = config.model_dump(), run.config.model_dump()
        if store:
            new["store"], existing["store"] = without_password(store), run.file.store and run.file.store.url
        if changes := "; ".join(describe_difference(*change) for change in differing_parts(existing, new)):
            run.close()
            raise BadRun(f"{folder} holds a run with other settings ({changes}); name another folder with --out")
        return run

    def _record_entries(self, tasks: Sequence[Task]) -> None:
        repeats = range(self.config.repeats) if self.forked is None else [self.forked.repeat]
        pairs = [(task, repeat) for repeat in repeats for task in tasks]
        entries = [EpisodeEntry(index=index, task=task, repeat=repeat) for index, (task, repeat) in enumerate(pairs)]
        self.store.put_all([("run", "task", entry.index, entry.model_dump(mode="json")) for entry in entries])

    def begin_invocation(
        self, invocation: InvocationSettings | None = None, *, models: Iterable[str] = (), note: Body | None = None
    ) -> None:
        """Begin an invocation. Its budget also covers earlier invocations.

        A budget, timeouts or a price table in ``invocation`` replaces the run's own. ``models`` names models that will
        be asked in addition to the run's own. ``note`` is recorded with the invocation. Raises BadArgument if the
        budget limits money, but a model has no price. Raises BadPrices if the price table is invalid.
        """
        new, old = invocation or InvocationSettings(), self.file
        prices = new.prices or self.prices
        check_money([*self.config.models.values(), *models], new.budget or old.budget, prices)
        pricing = load_pricing(prices)
        update = {
            "budget": self._with_manual_share(new.budget or old.budget),
            "timeouts": new.timeouts or old.timeouts,
            "unsafe_no_sandbox": new.unsafe_no_sandbox or old.unsafe_no_sandbox,
        }
        if (file := old.model_copy(update=update)) != old:
            self.file = file
            file.write(self.folder)
        if new.prices:
            with open_atomic(self.folder / PRICES_FILE) as copy:
                copy.write(new.prices.read_bytes())
        spent = spent_so_far(self.own_events(), pricing)
        self.meter = Meter(self.file.budget, spent, pricing, self.store.ledger)
        self.store.ledger.reset(amount_of(spent), spent.actions)
        self.store.leases.clear()
        self._record_invocation(note or {})

    def _with_manual_share(self, budget: Budget) -> Budget:
        """Return the budget. In a run of `planbook build`, a share of its limits is reserved for writing the manual."""
        if self.config.learning is None or budget == Budget() or budget.formulator is not None:
            return budget
        return budget.model_copy(update={"formulator": FORMULATOR_SHARE})

    def end_invocation(self) -> None:
        """End the invocation, and record the seconds for which the run was played in all invocations."""
        self._record_invocation({"over": True, SECONDS: self.meter.spent.seconds})
        if (reworded := self.meter.spent.reworded) != self.file.reworded_replies:
            self.file = self.file.model_copy(update={"reworded_replies": reworded})
            self.file.write(self.folder)

    def pause(self) -> None:
        """Stop the clock until ``unpause`` is called. Model calls that are still running count towards the budget."""
        self.meter.stop_clock()
        self._record_invocation({"over": True, PAUSED: True, SECONDS: self.meter.spent.seconds})

    def unpause(self) -> None:
        """Start the clock again."""
        self.meter.start_clock()
        self._record_invocation({})

    @cached_property
    def invocations(self) -> list[Body]:
        """The bodies of the events that begin, pause, continue and end invocations.

        They are read only once, because no other process adds such events while this one plays the run.
        """
        return [event.body for event in self.store.events("run", INVOCATION)]

    def _record_invocation(self, body: Body) -> None:
        self.store.put("run", INVOCATION, len(self.invocations), body)
        self.invocations.append(body)

    def journal(self, path: str, on_event: OnEvent | None = None) -> EpisodeJournal:
        """Return the journal of a scope. New events are counted in the run's spending, and passed to ``on_event``."""

        def metered(kind: EventKind, body: Body) -> None:
            self.meter.count(kind, body)
            if on_event is not None:
                on_event(kind, body)

        return EpisodeJournal(self.store, path, metered)

    def mark_imported(self, imported: Imported, config: Config) -> None:
        """Record the run's configuration, and that it was imported from files. From then on, it can only be read."""
        self.file = self.file.model_copy(update={"imported": imported, "config": config, **imported.declarations})
        self.imported, self.config = imported, config
        self.file.write(self.folder)

    def entries(self) -> list[EpisodeEntry]:
        """Return the episodes of the run, in order."""
        return self._entries.copy()

    @cached_property
    def _entries(self) -> list[EpisodeEntry]:
        """The episodes of the run. They never change, so they are read only once."""
        return [EpisodeEntry.model_validate(row.body) for row in self.store.events("run", "task")]

    def own_events(self, kind: EventKind | tuple[EventKind, ...] | None = None) -> Iterator[Event]:
        """Yield the run's events, or those of one or several kinds, without those copied from other runs."""
        return filter(self.is_own, self.store.events(kind=kind))

    def is_own(self, event: Event) -> bool:
        """Return False if an event belongs to an episode that was copied from another run."""
        return not (self.config.copies_episodes and event.scope.startswith("task/"))

    def close(self) -> None:
        """Close the store, and end the claim, so that another process may play the run."""
        self.store.close()
        if self._claim_fd is not None:
            os.close(self._claim_fd)


DIVERGED = "diverged"
"""Cause of an ending that does not count: the recorded part of the attempt could not be repeated, so another attempt
at the episode began."""
AGAIN = "again"
"""Key in an event that begins an invocation. Its value lists scopes of attempts whose endings no longer count, because
this invocation plays their episodes again."""

INPUTS_KEY = "inputs"
"""Key of the current inputs in an event that begins an invocation.

The event has this key if the inputs or versions differ from those at the run's start, or the inputs from those that
were recorded last.
"""


def recorded_inputs(body: Mapping[str, Any]) -> RunInputs | None:
    """Return the inputs in an event that begins an invocation, or None. Earlier versions called them ``made_of``."""
    inputs = body.get(INPUTS_KEY, body.get("made_of"))
    return RunInputs.model_validate(inputs) if inputs else None


def _library_run(folder: Path) -> LibraryRun | None:
    """Return what run.json records about the library in a folder, or None if it is not a run."""
    if not is_run(folder):
        return None
    with closing(Run.open(folder)) as library:
        return LibraryRun(begun=library.begun, events=library.store.event_count)


def superseded_scopes(run: Run) -> frozenset[str]:
    """Return the scopes of endings that no longer count, because a later invocation played their episodes again."""
    invocations: Iterable[Any] = run.invocations
    return frozenset(path for body in invocations for path in body.get(AGAIN, ()))


def recorded_endings(run: Run) -> dict[int, Ending]:
    """Return a dict that maps the index of each ended episode to its ending.

    If several attempts at an episode have ended, the last ending counts.
    """
    endings: dict[int, Ending] = {}
    excluded = superseded_scopes(run)
    for row in run.store.events("task", "outcome"):
        ending = Ending.model_validate(row.body)
        if ending.cause != DIVERGED and row.scope not in excluded:
            endings[index_of(row.scope)] = ending
    return endings


def last_scope(run: Run, entry: EpisodeEntry) -> str:
    """Return the scope of an episode's last attempt that has ended. Raises BadArgument if no attempt has ended."""
    ended = [row.scope for row in run.store.events(entry.path, "outcome")]
    if not ended:
        raise BadArgument(
            f"{entry.task.id} (episode {entry.index}) has not ended; resume its run: planbook run --resume {run.folder}"
        )
    return ended[-1]


def last_attempt(run: Run, entry: EpisodeEntry) -> Trajectory:
    """Return an episode's last attempt that has ended. Raises BadArgument if no attempt has ended."""
    path = last_scope(run, entry)
    return read_trajectory(path, run.store.events(path), entry.task)


def broken_scopes(run: Run) -> list[str]:
    """Return the scopes of the attempts that ended BROKEN. Raises BadArgument for a run of `planbook build`."""
    if run.config.learning is not None:
        raise BadArgument(
            f"{run.folder} is a run of `planbook build`: later knowledge depends on how these episodes ended; "
            "build again in another folder"
        )
    broken = {index for index, ending in recorded_endings(run).items() if ending.outcome is Outcome.BROKEN}
    return [last_scope(run, entry) for entry in run.entries() if entry.index in broken]
