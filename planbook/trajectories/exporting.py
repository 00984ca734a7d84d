"""`planbook export`: the episodes of runs, written to a file that others read."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from planbook.envs import did_you_mean
from planbook.errors import BadArgument, BadRun
from planbook.planner import Ending, Outcome, RunFacts, Trajectory, read_trajectory
from planbook.results import NOT_PLAYED
from planbook.run import Entry, Run, last_path, recorded_endings, without_folders
from planbook.trajectories.chat import talk_line, talks_of
from planbook.trajectories.faults import faults_of
from planbook.trajectories.files import to_write
from planbook.trajectories.jsonl import BadEpisode, line_of

FAULTY: Mapping[Outcome, str] = {Outcome.BROKEN: "BROKEN", Outcome.NOT_RUN: "NOT_RUN"}
"""Outcomes that say nothing of the planner, and what they are called where they are counted."""
UNFINISHED = "unfinished"


class Choice(BaseModel):
    """Which episodes are written, and what of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solved: bool = False
    """Only those that were."""
    types: tuple[str, ...] = ()
    """Only these task types."""
    everything: bool = False
    """What BROKEN episodes hold, too."""
    prompts: bool = True
    """Whether the messages sent to models are written."""
    roles: tuple[str, ...] = ()
    """Of chat: only the conversations of these."""
    with_repairs: bool = False
    """Of chat: replies that could not be used, too, with what was said of them."""


class Exported(BaseModel):
    """The object that ends standard output.

    ``left_out`` counts episodes by why they were; ``task_only`` those of which task and ending alone are written, so
    that they stay in the denominator.
    """

    model_config = ConfigDict(frozen=True)

    form: str
    out: str
    episodes: int
    conversations: int | None
    """Of chat: the lines."""
    replies: int | None
    """Of chat: what models said in the episodes, of whatever role; 0 where none was asked."""
    left_out: dict[str, int]
    task_only: dict[str, int] = {}
    runs: tuple[str, ...]


@dataclass
class Counts:
    """What was written, and what was not."""

    left_out: Counter[str] = field(default_factory=Counter)
    task_only: Counter[str] = field(default_factory=Counter)
    episodes: int = 0
    conversations: int = 0
    replies: int = 0


def export(folders: Sequence[Path], form: str, out: Path, choice: Choice) -> Exported:
    """Write the episodes of runs, in their order. Raises BadArgument, BadRun."""
    check_types(folders, choice.types)
    counts = Counts()
    with to_write(out) as file:
        try:
            FORMS[form](_counted(folders, choice, counts), choice, counts, file)
        except BadEpisode as bad:
            raise BadArgument(f"{out}: {bad}") from bad
    return Exported(
        form=form,
        out=str(out),
        episodes=counts.episodes,
        conversations=counts.conversations if form == "chat" else None,
        replies=counts.replies if form == "chat" else None,
        left_out=dict(counts.left_out),
        task_only=dict(counts.task_only),
        runs=tuple(map(str, folders)),
    )


def check_types(folders: Sequence[Path], types: Sequence[str]) -> None:
    """See that every type is one of some episode, before a file is begun. Raises BadArgument, BadRun."""
    if not types:
        return
    known = set[str]()
    for folder in folders:
        with closing(Run.open(folder)) as run:
            known.update(entry.task.type for entry in run.entries())
    if unknown := [kind for kind in types if kind not in known]:
        there = did_you_mean(unknown[0], sorted(known)) if known else "; there are no episodes"
        raise BadArgument(f"--types: no episode is of the type {unknown[0]!r}{there}")


def _counted(folders: Sequence[Path], choice: Choice, counts: Counts) -> Iterator[Trajectory]:
    for folder in folders:
        with closing(Run.open(folder)) as run:
            yield from chosen(run, choice, counts)


def chosen(run: Run, choice: Choice, counts: Counts) -> Iterator[Trajectory]:
    """The chosen episodes of a run, one after the other; the others are counted by why they are left out.

    Of what was not played, only the task and the ending are given.
    """
    endings, same = recorded_endings(run), None if run.imported else facts_of(run, 0)
    for entry in run.entries():
        ending = endings.get(entry.index)
        if why := _why_not(entry, ending, choice):
            counts.left_out[why] += 1
            continue
        facts = same or facts_of(run, entry.index)
        if faulty := _not_told(ending, choice):
            counts.task_only[faulty] += 1
            yield task_alone(entry, facts, ending)
        else:
            counts.episodes += 1
            trajectory = trajectory_of(run, entry, facts)
            yield trajectory if choice.prompts else without_prompts(trajectory)


def facts_of(run: Run, index: int) -> RunFacts:
    """Return what is known of the run that an episode comes from; of an imported one, of the run that it left."""
    if run.imported is not None:
        return RunFacts.model_validate(run.imported.facts_of(index))
    world = next((event.body for event in run.store.events("run", "versions")), {})
    config = without_folders(run.config)
    return RunFacts(
        planner=config.planner,
        config=config.model_dump(mode="json"),
        begun=run.begun,
        versions=run.versions,
        world={name: str(version) for name, version in world.items()},
    )


def trajectory_of(run: Run, entry: Entry, facts: RunFacts) -> Trajectory:
    """Return an episode that has ended, as it was last started over. Raises BadRun for one that does not fit together.

    ``facts`` are those of its run.
    """
    path = last_path(run, entry)
    found = read_trajectory(path, run.store.events(path), entry.task)
    found = found.model_copy(update={"repeat": entry.repeat, "run": facts})
    if faults := list(faults_of(found)):
        raise BadRun(f"{run.folder}: {path} cannot be exported: {'; '.join(faults)}")
    return found


def task_alone(entry: Entry, facts: RunFacts, ending: Ending | None) -> Trajectory:
    """Return an episode without what happened in it; with no ending, it was not run."""
    return Trajectory(task=entry.task, repeat=entry.repeat, run=facts, ending=ending or NOT_PLAYED)


def without_prompts(trajectory: Trajectory) -> Trajectory:
    """The episode without what was sent to models; their replies stay."""
    calls = tuple(call.model_copy(update={"messages": ()}) for call in trajectory.calls)
    return trajectory.model_copy(update={"calls": calls})


def _why_not(entry: Entry, ending: Ending | None, choice: Choice) -> str:
    if choice.types and entry.task.type not in choice.types:
        return "of other types"
    return "not solved" if choice.solved and not (ending is not None and ending.outcome.solved) else ""


def _not_told(ending: Ending | None, choice: Choice) -> str:
    """Why no more than the task and the ending is written of an episode; empty where all of it is."""
    if ending is None:
        return UNFINISHED
    return "" if choice.everything else FAULTY.get(ending.outcome, "")


def _write_lines(trajectories: Iterator[Trajectory], choice: Choice, counts: Counts, file: BinaryIO) -> None:
    for trajectory in trajectories:
        file.write(f"{line_of(trajectory)}\n".encode())


def _write_columns(trajectories: Iterator[Trajectory], choice: Choice, counts: Counts, file: BinaryIO) -> None:
    from planbook.trajectories.parquet import write_rows  # it takes a quarter of a second to import

    write_rows(((each, line_of(each)) for each in trajectories), file)


def _write_talks(trajectories: Iterator[Trajectory], choice: Choice, counts: Counts, file: BinaryIO) -> None:
    for trajectory in trajectories:
        counts.replies += len(trajectory.calls)
        for talk in talks_of(trajectory, choice.roles, with_repairs=choice.with_repairs):
            counts.conversations += 1
            file.write(f"{talk_line(talk)}\n".encode())


Writer = Callable[[Iterator[Trajectory], Choice, Counts, BinaryIO], None]
FORMS: Mapping[str, Writer] = {"jsonl": _write_lines, "parquet": _write_columns, "chat": _write_talks}
