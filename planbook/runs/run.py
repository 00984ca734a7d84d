"""An open run: everything that one command did, in one folder.

``run.json`` says what was asked for and with which versions; ``run.db`` holds what happened, or a schema in a database
of PostgreSQL does, which ``run.json`` names then.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Self

from planbook.config import Config, Invocation
from planbook.envs import Task
from planbook.errors import BadArgument, BadRun
from planbook.planner import Body, Budget, Ending, EventKind, Meter, Outcome, Timeouts, amount_of
from planbook.runs.folder import (
    CONFIG_FILE,
    GRAPH_PLANNER,
    Entry,
    Fork,
    Imported,
    MadeOf,
    RunFile,
    claim_folder,
    index_of,
    is_claimed,
)
from planbook.runs.installed import changed_versions, versions
from planbook.spending import check_money, prices_from, spent_so_far
from planbook.store import EpisodeJournal, Event, Store, Watch, begin_schema, without_password, without_restart
from planbook.wording import outcome_of, why
from planbook.writing import TEMPORARY

STORE_FILE = "run.db"
_KINDS = {
    False: "holds passes of a prompt graph, without an environment: `planbook graph run --out` continues them, "
    "`planbook show` and `planbook report` show them",
    True: "holds episodes, and no passes of a prompt graph; name another folder with --out",
}
FORMULATOR_SHARE = 0.1
"""Of a building run's budget, what its manual may cost, unless ``--budget formulator=SHARE`` says otherwise."""
PAUSED = "paused"
"""Key of the end of an invocation that is only a pause."""
OWN_FILES = (CONFIG_FILE, f"{CONFIG_FILE}.*{TEMPORARY}", STORE_FILE, f"{STORE_FILE}-*", "run.new")
"""Files that a run killed at its beginning may have left; the last one is of an older planbook."""


NONE: Mapping[str, int] = {}


class Run:
    """An open run folder."""

    of_a_graph: ClassVar[bool] = False
    """True if it holds passes of a prompt graph instead of episodes."""

    def __init__(self, folder: Path, file: RunFile, store: Store, claimed: int | None = None) -> None:
        self.folder, self.config, self.begun, self.versions = folder, file.config, file.begun, file.versions
        self.made_of, self.rerun_of, self.imported = file.made_of, file.rerun_of, file.imported
        self.forked = file.forked
        self.unjudgeable = file.unjudgeable
        self.store, self._claim, self._file = store, claimed, file
        self.meter = Meter()
        self.is_new = False
        """True if it was created by this process, so that nothing can have changed since."""
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
        made_of: MadeOf | None = None,
        rerun_of: str = "",
        forked: Fork | None = None,
        unjudgeable: Mapping[str, int] = NONE,
    ) -> Self:
        """Create a run in a folder, or open the one that is there if it has the same configuration. Raises BadRun.

        ``store`` is the URL of a PostgreSQL database for the events (BadArgument, MissingRequirement), ``made_of`` what
        the run is begun with, ``rerun_of`` the folder of the run that it repeats, ``forked`` the action that its one
        episode plays on from, ``unjudgeable`` how many tasks are left out, by reason. ``run.json`` is written last: a
        folder without it holds nothing yet, and is begun anew.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
            there = {path.name for path in folder.iterdir()}
        except OSError as error:
            raise BadRun(f"{folder} cannot hold a run: {error.strerror}; name another folder with --out") from error
        if CONFIG_FILE in there:
            return cls._same(folder, config, store)
        if foreign := sorted(name for name in there if not any(fnmatchcase(name, own) for own in OWN_FILES)):
            raise BadRun(f"{folder} holds no run, but {foreign[0]}; name another folder with --out")
        claim = claim_folder(folder)
        for name in there:
            (folder / name).unlink()
        schema = begin_schema(store) if store else None
        file = RunFile(
            config=config,
            begun=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=versions(),
            store=schema and schema.lasting(),
            made_of=made_of,
            rerun_of=rerun_of,
            forked=forked,
            unjudgeable=dict(unjudgeable),
        )
        run = cls(folder, file, Store(schema or folder / STORE_FILE), claim)
        run.is_new = True
        run.store.claim()
        run._list(tasks)
        file.write(folder)
        return run

    @classmethod
    def open(cls, folder: Path, *, to_play: bool = False, store: str | None = None, graphs: bool = False) -> Self:
        """Open an existing run; ``to_play`` claims it for this process. Raises BadRun.

        ``store`` is the URL that it was begun with: it may have the password, which ``run.json`` has not. With
        ``graphs`` the run of a prompt graph is opened, too: it has one episode, without an environment.
        """
        file = RunFile.read(folder)
        of_a_graph = file.config.planner == GRAPH_PLANNER
        if of_a_graph != cls.of_a_graph and not (of_a_graph and graphs):
            raise BadRun(f"{folder} {_KINDS[cls.of_a_graph]}")
        if file.store is None and not (folder / STORE_FILE).exists():
            raise BadRun(f"{folder} holds no run: there is no {STORE_FILE}, which has its events; put it back")
        if file.store is None and not (folder / STORE_FILE).stat().st_size:
            raise BadRun(f"{folder / STORE_FILE} cannot be read as a run's store: it is empty; put it back")
        if to_play and file.imported is not None:
            raise BadRun(
                f"{folder} was imported, and cannot be played or added to; learn from it by `planbook build --from`"
            )
        with ExitStack() as undoing:
            claim = claim_folder(folder) if to_play else None
            if claim is not None:
                undoing.callback(os.close, claim)
            place = file.store.by(store) if file.store else folder / STORE_FILE
            opened = undoing.enter_context(closing(Store(place, to_write=to_play)))
            if to_play:
                opened.claim()
            undoing.pop_all()
        return cls(folder, file, opened, claim)

    @property
    def is_played(self) -> bool:
        """True while a process plays it, on this machine or on any that uses the same database."""
        return is_claimed(self.folder) or self.store.is_claimed()

    @classmethod
    def _same(cls, folder: Path, config: Config, store: str | None) -> Self:
        run = cls.open(folder, to_play=True, store=store)
        asked, there = config.model_dump(), run.config.model_dump()
        if store:
            asked["store"], there["store"] = without_password(store), run._file.store and run._file.store.url
        if different := list(_different(there, asked)):
            run.close()
            raise BadRun(f"{folder} holds another run ({cls._other(different)}); name another folder with --out")
        return run

    @classmethod
    def _other(cls, different: Sequence[str]) -> str:
        """Return in words which settings differ."""
        return f"other {', '.join(different)}"

    def _list(self, tasks: Sequence[Task]) -> None:
        repeats = range(self.config.repeats) if self.forked is None else [self.forked.repeat]
        pairs = [(task, repeat) for repeat in repeats for task in tasks]
        entries = [Entry(index=index, task=task, repeat=repeat) for index, (task, repeat) in enumerate(pairs)]
        self.store.put_all([("run", "task", entry.index, entry.model_dump(mode="json")) for entry in entries])

    @property
    def budget(self) -> Budget:
        """Return what the run may spend in all."""
        return self._file.budget

    @property
    def unsafe_no_sandbox(self) -> bool:
        """True if its plans may run where the kernel cannot confine them."""
        return self._file.unsafe_no_sandbox

    @property
    def timeouts(self) -> Timeouts:
        """Timeouts of its model calls."""
        return self._file.timeouts

    def begin_invocation(
        self, given: Invocation | None = None, *, models: Iterable[str] = (), note: Body | None = None
    ) -> None:
        """Begin an invocation, and to spend: what earlier ones spent counts.

        Their budget and timeouts hold unless new ones are given. ``models`` are those that will be asked beside the
        run's own; the ``note`` is recorded with the invocation. Raises BadArgument, BadPrices.
        """
        given, before = given or Invocation(), self._file
        check_money([*self.config.models.values(), *models], given.budget or before.budget, given.prices)
        new = {
            "budget": self._sharing(given.budget or before.budget),
            "timeouts": given.timeouts or before.timeouts,
            "unsafe_no_sandbox": given.unsafe_no_sandbox or before.unsafe_no_sandbox,
        }
        if (file := before.model_copy(update=new)) != before:
            self._file = file
            file.write(self.folder)
        price = prices_from(given.prices)
        spent = spent_so_far(self.own_events(), price)
        self.meter = Meter(self._file.budget, spent, price, self.store.ledger)
        self.store.ledger.open(amount_of(spent), spent.actions)
        self.store.leases.open()
        self._record_invocation(note or {})

    def _sharing(self, budget: Budget) -> Budget:
        """Return the budget, of which a building run keeps a share for its manual."""
        if self.config.learning is None or budget == Budget() or budget.formulator is not None:
            return budget
        return budget.model_copy(update={"formulator": FORMULATOR_SHARE})

    def end_invocation(self) -> None:
        """End the invocation: the time up to now counts. If a process is killed, the time up to its last event does."""
        self._record_invocation({"over": True})
        reworded = self.meter.spent.reworded
        if reworded != self._file.reworded_replies:
            self._file = self._file.model_copy(update={"reworded_replies": reworded})
            self._file.write(self.folder)

    def pause(self) -> None:
        """Stop the clock until ``go_on``; replies that were under way still count."""
        self.meter.stop_clock()
        self._record_invocation({"over": True, PAUSED: True})

    def go_on(self) -> None:
        """Start the clock again."""
        self.meter.start_clock()
        self._record_invocation({})

    @property
    def invocations(self) -> Sequence[Body]:
        """Return what was recorded of each invocation. Read once: only the process that plays the run adds to it."""
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
        self._file = self._file.model_copy(update={"imported": imported, "config": config})
        self.imported, self.config = imported, config
        self._file.write(self.folder)

    def changed_versions(self) -> list[str]:
        """Return in words the versions that have changed since the run began."""
        return [str(change) for change in changed_versions(self.versions, versions())]

    def entries(self) -> list[Entry]:
        """Return the episodes of the run, in order."""
        return [Entry.model_validate(row.body) for row in self.store.events("run", "task")]

    def own_events(self) -> Iterator[Event]:
        """Yield the events of the run itself, without the episodes that a building run has copied from others."""
        return filter(self.is_own, self.store.events())

    def is_own(self, event: Event) -> bool:
        """Return whether an event belongs to this run, not to one that it copied from."""
        return not (self.config.copies and event.scope.startswith("task/"))

    def close(self) -> None:
        """Close the store; another process may then play the run."""
        self.store.close()
        if self._claim is not None:
            os.close(self._claim)


def _different(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the settings that differ, such as ``selection.seeds``."""
    for name in {**one, **other}:
        left, right = one.get(name), other.get(name)
        if isinstance(left, dict) and isinstance(right, dict):
            yield from (f"{name}.{inner}" for inner in _different(left, right))
        elif left != right:
            yield name


DIVERGED = "diverged"
"""The cause of an ending that does not count: the record could not be repeated, so the episode was started over."""
AGAIN = "again"
"""Key of an invocation that plays episodes again; its value is the scopes of the endings that no longer count."""


def set_aside(run: Run) -> frozenset[str]:
    """Return the scopes of endings that do not count, because a later invocation plays these episodes again."""
    invocations: Iterable[Any] = run.invocations
    return frozenset(path for body in invocations for path in body.get(AGAIN, ()))


def recorded_endings(run: Run) -> dict[int, Ending]:
    """Return the endings in a run's store, by index; of an episode that was started over, the last one."""
    endings: dict[int, Ending] = {}
    aside = set_aside(run)
    for row in run.store.events("task", "outcome"):
        ending = Ending.model_validate(row.body)
        if ending.cause != DIVERGED and row.scope not in aside:
            endings[index_of(row.scope)] = ending
    return endings


def last_path(run: Run, entry: Entry) -> str:
    """Return the scope of an episode's last start."""
    scopes = [row.scope for row in run.store.events(entry.path, "outcome")]
    return scopes[-1]


def broken_paths(run: Run) -> list[str]:
    """Return the scopes of the BROKEN endings, which are to be set aside. Raises BadArgument for a building run."""
    if run.config.learning is not None:
        raise BadArgument(
            f"{run.folder} is a building run: what was learned since depends on how these episodes ended; "
            "build again in another folder"
        )
    broken = {index for index, ending in recorded_endings(run).items() if ending.outcome is Outcome.BROKEN}
    return [last_path(run, entry) for entry in run.entries() if entry.index in broken]


def again_lines(run: Run) -> Iterator[str]:
    """Yield a line for each episode that was played again: its outcomes before and now."""
    aside = set_aside(run)
    if not aside:
        return
    endings, tasks = recorded_endings(run), {entry.path: entry for entry in run.entries()}
    for path in sorted(aside):
        entry = tasks[without_restart(path)]
        now = endings.get(entry.index)
        became = "not played yet" if now is None else _told(now)
        then = ", ".join(map(_told, _endings_at(run, path)))
        yield f"Played again: {entry.task.id}, which was {then}; now {became}."


def _endings_at(run: Run, path: str) -> Sequence[Ending]:
    return [Ending.model_validate(row.body) for row in run.store.events(path, "outcome") if row.scope == path]


def _told(ending: Ending) -> str:
    return outcome_of(ending) + why(ending)
