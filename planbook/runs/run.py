"""An open run: everything that one command did, in one folder.

``run.json`` has the configuration, inputs and versions. The events are in ``run.db``, or in a schema of a PostgreSQL
database that ``run.json`` names.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Self

from planbook.config import Config, Invocation, differing_names
from planbook.envs import EnvsError, Task, known_environments, load_environment
from planbook.errors import BadArgument, BadRun
from planbook.planner import Body, Budget, Ending, EventKind, Meter, Outcome, amount_of
from planbook.runs.folder import (
    CONFIG_FILE,
    GRAPH_PLANNER,
    Entry,
    Fork,
    Imported,
    RunFile,
    RunInputs,
    claim_folder,
    index_of,
    is_claimed,
)
from planbook.runs.installed import versions
from planbook.spending import SECONDS, Price, check_money, prices_from, spent_so_far
from planbook.store import (
    EpisodeJournal,
    Event,
    Store,
    Watch,
    begin_schema,
    recorded_place,
    without_password,
    without_restart,
)
from planbook.wording import outcome_of, why
from planbook.writing import TEMPORARY, whole

STORE_FILE = "run.db"
PRICES_FILE = "prices.json"
"""The price table that was given to the run, if any."""
FORMULATOR_SHARE = 0.1
"""The share of a building run's budget that is kept for its manual, unless ``--budget formulator=SHARE`` is given."""
PAUSED = "paused"
"""Key that marks a pause in an event that otherwise ends an invocation."""
OWN_FILES = (CONFIG_FILE, f"{CONFIG_FILE}.*{TEMPORARY}", STORE_FILE, f"{STORE_FILE}-*", "run.new")
"""Files that a run killed at its beginning may have left; an older planbook wrote the last one."""


class Run:
    """An open run folder; ``file`` is the content of its run.json."""

    def __init__(self, folder: Path, file: RunFile, store: Store, claimed: int | None = None) -> None:
        self.folder, self.config, self.begun, self.versions = folder, file.config, file.begun, file.versions
        self.made_of, self.forked, self.imported = file.made_of, file.forked, file.imported
        self.unjudgeable = file.unjudgeable
        self.store, self._claim, self.file = store, claimed, file
        self.meter = Meter()
        self.is_new = False
        """True if this process created the run, so nothing can have changed since."""
        self._invocations: list[Body] | None = None
        self.noted_versions = False
        """True once this process has recorded the environment's versions."""

    @classmethod
    def create(
        cls,
        folder: Path,
        config: Config,
        tasks: Sequence[Task],
        *,
        store: str | None = None,
        made_of: RunInputs | None = None,
        rerun_of: str = "",
        forked: Fork | None = None,
        unjudgeable: Mapping[str, int] = {},
    ) -> Self:
        """Create a run in a folder, or open the existing one if it has the same configuration. Raises BadRun.

        ``store`` is the URL of a PostgreSQL database for the events (with it, also raises BadArgument and
        MissingRequirement), ``made_of`` the digests of the inputs, ``rerun_of`` the folder of the run that this one
        repeats, ``forked`` the action from which its one episode continues, ``unjudgeable`` the number of tasks left
        out, by reason. ``run.json`` is written last: in a folder without it, files of planbook are leftovers and are
        deleted, and any other file raises BadRun.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files = {path.name for path in folder.iterdir()}
        except OSError as error:
            raise BadRun(f"{folder} cannot hold a run: {error.strerror}; name another folder with --out") from error
        if CONFIG_FILE in files:
            return cls._open_same(folder, config, store)
        if foreign := sorted(name for name in files if not any(fnmatchcase(name, own) for own in OWN_FILES)):
            raise BadRun(f"{folder} holds no run, but {foreign[0]}; name another folder with --out")
        with ExitStack() as cleanup:
            claim = claim_folder(folder)
            cleanup.callback(os.close, claim)
            for name in files:
                (folder / name).unlink()
            schema = begin_schema(store) if store else None
            file = RunFile(
                config=config,
                begun=datetime.now(UTC).isoformat(timespec="seconds"),
                versions=versions(),
                store=schema and schema.redacted(),
                made_of=made_of,
                rerun_of=rerun_of,
                forked=forked,
                unjudgeable=dict(unjudgeable),
                **_declared(config.env),
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
        """Open an existing run; ``to_play`` claims it for this process. Raises BadRun.

        ``store`` is the URL of its database: it may contain the password, which ``run.json`` does not. ``graphs``
        allows the run of a prompt graph too: it has one episode, without an environment.
        """
        file = RunFile.read(folder)
        if file.config.planner == GRAPH_PLANNER and not graphs:
            raise BadRun(
                f"{folder} holds passes of a prompt graph, without an environment: `planbook graph run --out` "
                "continues them, `planbook show` and `planbook report` show them"
            )
        if file.store is None and not (folder / STORE_FILE).exists():
            raise BadRun(f"{folder} holds no run: there is no {STORE_FILE}, which has its events; put it back")
        if file.store is None and not (folder / STORE_FILE).stat().st_size:
            raise BadRun(f"{folder / STORE_FILE} cannot be read as a run's store: it is empty; put it back")
        if to_play and file.imported is not None:
            raise BadRun(
                f"{folder} was imported, and cannot be played or added to; learn from it with `planbook build --from`"
            )
        with ExitStack() as cleanup:
            claim = claim_folder(folder) if to_play else None
            if claim is not None:
                cleanup.callback(os.close, claim)
            place = recorded_place(file.store, store) if file.store else folder / STORE_FILE
            events = cleanup.enter_context(closing(Store(place, to_write=to_play)))
            if to_play:
                events.claim()
            cleanup.pop_all()
        return cls(folder, file, events, claim)

    @property
    def prices(self) -> Path | None:
        """The price table that the run keeps; None if it uses the shipped one."""
        path = self.folder / PRICES_FILE
        return path if path.is_file() else None

    @property
    def price(self) -> Price:
        """The function that prices replies by the run's table. Raises BadPrices."""
        return prices_from(self.prices)

    @property
    def is_played(self) -> bool:
        """True while a process plays the run, on this machine or on another that uses the same database."""
        return is_claimed(self.folder) or self.store.is_claimed()

    @classmethod
    def _open_same(cls, folder: Path, config: Config, store: str | None) -> Self:
        run = cls.open(folder, to_play=True, store=store, graphs=True)
        new, existing = config.model_dump(), run.config.model_dump()
        if store:
            new["store"], existing["store"] = without_password(store), run.file.store and run.file.store.url
        if different := list(differing_names(existing, new)):
            run.close()
            raise BadRun(f"{folder} holds another run (other {', '.join(different)}); name another folder with --out")
        return run

    def _record_entries(self, tasks: Sequence[Task]) -> None:
        repeats = range(self.config.repeats) if self.forked is None else [self.forked.repeat]
        pairs = [(task, repeat) for repeat in repeats for task in tasks]
        entries = [Entry(index=index, task=task, repeat=repeat) for index, (task, repeat) in enumerate(pairs)]
        self.store.put_all([("run", "task", entry.index, entry.model_dump(mode="json")) for entry in entries])

    def begin_invocation(
        self, invocation: Invocation | None = None, *, models: Iterable[str] = (), note: Body | None = None
    ) -> None:
        """Begin an invocation, and meter it: the spending of earlier invocations counts.

        Their budget, timeouts and price table stay in force unless new ones are given. ``models`` are asked besides the
        run's own; the ``note`` is recorded with the invocation. Raises BadArgument, BadPrices.
        """
        new, before = invocation or Invocation(), self.file
        prices = new.prices or self.prices
        check_money([*self.config.models.values(), *models], new.budget or before.budget, prices)
        price = prices_from(prices)
        update = {
            "budget": self._with_manual_share(new.budget or before.budget),
            "timeouts": new.timeouts or before.timeouts,
            "unsafe_no_sandbox": new.unsafe_no_sandbox or before.unsafe_no_sandbox,
        }
        if (file := before.model_copy(update=update)) != before:
            self.file = file
            file.write(self.folder)
        if new.prices:
            with whole(self.folder / PRICES_FILE) as kept:
                kept.write(new.prices.read_bytes())
        spent = spent_so_far(self.own_events(), price)
        self.meter = Meter(self.file.budget, spent, price, self.store.ledger)
        self.store.ledger.open(amount_of(spent), spent.actions)
        self.store.leases.open()
        self._record_invocation(note or {})

    def _with_manual_share(self, budget: Budget) -> Budget:
        """Return the budget; that of a building run keeps a share for its manual."""
        if self.config.learning is None or budget == Budget() or budget.formulator is not None:
            return budget
        return budget.model_copy(update={"formulator": FORMULATOR_SHARE})

    def end_invocation(self) -> None:
        """End the invocation. Its time up to now counts; that of a killed process counts up to its last event."""
        self._record_invocation({"over": True, SECONDS: self.meter.spent.seconds})
        reworded = self.meter.spent.reworded
        if reworded != self.file.reworded_replies:
            self.file = self.file.model_copy(update={"reworded_replies": reworded})
            self.file.write(self.folder)

    def pause(self) -> None:
        """Stop the clock until ``go_on``; model calls under way still count."""
        self.meter.stop_clock()
        self._record_invocation({"over": True, PAUSED: True, SECONDS: self.meter.spent.seconds})

    def go_on(self) -> None:
        """Start the clock again."""
        self.meter.start_clock()
        self._record_invocation({})

    @property
    def invocations(self) -> Sequence[Body]:
        """The events of all invocations. They are read once: only the process that plays the run adds to them."""
        if self._invocations is None:
            self._invocations = [event.body for event in self.store.events("run", "sitting")]
        return self._invocations

    def _record_invocation(self, body: Body) -> None:
        number = len(self.invocations)
        self.store.put("run", "sitting", number, body)
        self._invocations = [*self.invocations, body]

    def journal(self, path: str, watch: Watch | None = None) -> EpisodeJournal:
        """Return the journal of a scope. New events are metered, and passed to ``watch``."""

        def metered(kind: EventKind, body: Body) -> None:
            self.meter.count(kind, body)
            if watch is not None:
                watch(kind, body)

        return self.store.journal(path, metered)

    def note_imported(self, imported: Imported, config: Config) -> None:
        """Mark the run as imported from files; from then on it can only be read."""
        self.file = self.file.model_copy(update={"imported": imported, "config": config})
        self.imported, self.config = imported, config
        self.file.write(self.folder)

    def entries(self) -> list[Entry]:
        """Return the episodes of the run, in order."""
        return [Entry.model_validate(row.body) for row in self.store.events("run", "task")]

    def own_events(self) -> Iterator[Event]:
        """Yield the events of the run itself, without episodes that a building run copied from other runs."""
        return filter(self.is_own, self.store.events())

    def is_own(self, event: Event) -> bool:
        """Return whether an event belongs to this run, not to a copied episode."""
        return not (self.config.copies and event.scope.startswith("task/"))

    def close(self) -> None:
        """Close the store; another process may then play the run."""
        self.store.close()
        if self._claim is not None:
            os.close(self._claim)


DIVERGED = "diverged"
"""Cause of an ending that does not count: the record could not be repeated, so the episode was started over."""
AGAIN = "again"
"""Key in the event of an invocation that plays episodes again: the scopes of the endings that no longer count."""


def _declared(env: str) -> dict[str, Any]:
    """Return what an environment that is not installed declares, for commands that read the run."""
    if env in known_environments():
        return {}
    try:
        environment = load_environment(env)
    except EnvsError:
        return {}
    return {"answering": environment.answering, "milestones": environment.all_milestones}


def set_aside(run: Run) -> frozenset[str]:
    """Return the scopes of endings that do not count because a later invocation played their episodes again."""
    invocations: Iterable[Any] = run.invocations
    return frozenset(path for body in invocations for path in body.get(AGAIN, ()))


def recorded_endings(run: Run) -> dict[int, Ending]:
    """Return the endings of a run, by index; for an episode that was started over, the last one."""
    endings: dict[int, Ending] = {}
    excluded = set_aside(run)
    for row in run.store.events("task", "outcome"):
        ending = Ending.model_validate(row.body)
        if ending.cause != DIVERGED and row.scope not in excluded:
            endings[index_of(row.scope)] = ending
    return endings


def last_path(run: Run, entry: Entry) -> str:
    """Return the scope of an episode's last attempt that ended. Raises BadArgument if none has."""
    ended = [row.scope for row in run.store.events(entry.path, "outcome")]
    if not ended:
        raise BadArgument(
            f"{entry.task.id} (episode {entry.index}) has not ended; resume its run: planbook run --resume {run.folder}"
        )
    return ended[-1]


def broken_paths(run: Run) -> list[str]:
    """Return the scopes of the BROKEN endings. Raises BadArgument for a building run."""
    if run.config.learning is not None:
        raise BadArgument(
            f"{run.folder} is a building run: later knowledge depends on how these episodes ended; "
            "build again in another folder"
        )
    broken = {index for index, ending in recorded_endings(run).items() if ending.outcome is Outcome.BROKEN}
    return [last_path(run, entry) for entry in run.entries() if entry.index in broken]


def again_lines(run: Run) -> Iterator[str]:
    """Yield a line for each attempt that was played again, with its outcome then and the episode's outcome now."""
    excluded = set_aside(run)
    if not excluded:
        return
    endings, entries = recorded_endings(run), {entry.path: entry for entry in run.entries()}
    for path in sorted(excluded):
        entry = entries[without_restart(path)]
        ending = endings.get(entry.index)
        now = "not played yet" if ending is None else _in_words(ending)
        rows = (row for row in run.store.events(path, "outcome") if row.scope == path)
        then = ", ".join(_in_words(Ending.model_validate(row.body)) for row in rows)
        yield f"Played again: {entry.task.id}, which was {then}; now {now}."


def _in_words(ending: Ending) -> str:
    return outcome_of(ending) + why(ending)
