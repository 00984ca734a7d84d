"""Writes episodes of runs to a file: whole episodes, or only the conversations with models (``--format chat``).

A file of episodes appears only when it is complete. In JSON Lines, each line is an episode's trajectory as JSON. In
Parquet, each row has the same JSON in the column ``trajectory``, and other columns for filtering. The metadata of the
file names the schema under the key ``schema``.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import BaseModel, Field

from planbook.atomic_files import open_output
from planbook.envs import missing_extra
from planbook.errors import BadArgument
from planbook.export.conversations import write_conversations
from planbook.planner import TRAJECTORY_SCHEMA, Call, Ending, RunFacts, Trajectory
from planbook.results.rows import NOT_PLAYED
from planbook.runs import EpisodeEntry, Run, last_attempt, model_without_folders, recorded_endings, without_folders


class ExportResult(BaseModel):
    """The output of ``planbook export --json``.

    ``task_only`` counts, for each reason, the episodes of which only the task and the ending were written. They still
    count in success rates.
    """

    form: str
    out: str
    episodes: int = 0
    conversations: int | None = None
    """The number of conversations that were written, or None unless the format is chat."""
    task_only: Counter[str] = Field(default_factory=Counter)
    runs: tuple[str, ...]


def export(
    folders: Sequence[Path],
    file_format: str,
    out: Path,
    *,
    solved: bool = False,
    everything: bool = False,
    roles: Sequence[str] = (),
) -> ExportResult:
    """Write episodes of runs, in the order of the runs and episodes.

    If ``solved`` is true, only solved episodes are written as a whole. If ``everything`` is true, episodes that ended
    BROKEN or NOT_RUN are written as a whole, not only their task and ending. In the format chat, only conversations
    with models in these ``roles`` are written or, if ``roles`` is empty, all conversations. Raises BadArgument if the
    file cannot be written, or BadRun if a run cannot be read.
    """
    exported = ExportResult(form=file_format, out=str(out), runs=tuple(map(str, folders)))
    output = nullcontext(sys.stdout.buffer) if out == STANDARD_OUTPUT else open_output(out, make_folders=True)
    with output as file:
        episodes = chain.from_iterable(_episodes_of(folder, exported, solved, everything) for folder in folders)
        try:
            if file_format == "parquet":
                write_rows(episodes, file)
            elif file_format == "chat":
                exported.conversations = write_conversations(episodes, roles, file)
            else:
                file.writelines(f"{line_of(episode)}\n".encode() for episode in episodes)
        except BadEpisode as bad:
            raise BadArgument(f"{out}: {bad}") from bad
        file.flush()
    return exported


def _episodes_of(folder: Path, exported: ExportResult, solved: bool, everything: bool) -> Iterator[Trajectory]:
    """Yield the episodes of a run, and count them in ``exported``.

    An episode that is not to be written as a whole is yielded with only its task and its ending.
    """
    with closing(Run.open(folder)) as run:
        endings, shared_facts = recorded_endings(run), None if run.imported else facts_of(run, 0)
        for entry in run.entries():
            ending, facts = endings.get(entry.index), shared_facts or facts_of(run, entry.index)
            if reason := _reason_for_task_only(ending, solved, everything):
                exported.task_only[reason] += 1
                yield Trajectory(task=entry.task, repeat=entry.repeat, run=facts, ending=ending or NOT_PLAYED)
            else:
                exported.episodes += 1
                yield _shareable(trajectory_of(run, entry, facts))


def facts_of(run: Run, index: int) -> RunFacts:
    """Return facts about an episode's run or, if the episode was imported, about its original run."""
    if run.imported is not None:
        return RunFacts.model_validate(run.imported.facts_of(index))
    config = without_folders(run.config)
    return RunFacts(
        planner=config.planner,
        config=config.model_dump(mode="json"),
        begun=run.begun,
        versions=run.versions,
        environment=run.environment_versions,
        answer_action=run.file.answer_action,
        milestones=run.file.milestones,
    )


def trajectory_of(run: Run, entry: EpisodeEntry, facts: RunFacts | None = None) -> Trajectory:
    """Return the last attempt at an episode that has ended. By default, the ``facts`` about its run are read."""
    return last_attempt(run, entry).model_copy(
        update={"repeat": entry.repeat, "run": facts or facts_of(run, entry.index)}
    )


def _shareable(trajectory: Trajectory) -> Trajectory:
    """Return the episode with the paths in the names of models reduced to file names."""
    calls = list[Call]()
    for call in trajectory.calls:
        reply = call.reply.model_copy(update={"model": model_without_folders(call.reply.model)})
        calls.append(call.model_copy(update={"model": model_without_folders(call.model), "reply": reply}))
    return trajectory.model_copy(update={"calls": tuple(calls)})


def _reason_for_task_only(ending: Ending | None, solved: bool, everything: bool) -> str:
    """Return the reason to write only the task and the ending of an episode, or "" to write the whole episode."""
    if ending is None:
        return "unfinished"
    if solved and not ending.outcome.solved:
        return "not solved"
    return "" if ending.outcome.played or everything else ending.outcome.name


STANDARD_OUTPUT = Path("-")
ROWS_PER_GROUP = 64
COLUMNS: Mapping[str, Callable[[Trajectory], str | int | float | None]] = {
    "planner": lambda trajectory: trajectory.run.planner,
    "env": lambda trajectory: trajectory.task.env,
    "task": lambda trajectory: trajectory.task.id,
    "type": lambda trajectory: trajectory.task.type,
    "split": lambda trajectory: trajectory.task.split,
    "goal": lambda trajectory: trajectory.task.goal,
    "outcome": lambda trajectory: trajectory.ending.outcome.value,
    "cause": lambda trajectory: trajectory.ending.cause,
    "seed": lambda trajectory: trajectory.task.seed,
    "repeat": lambda trajectory: trajectory.repeat,
    "actions": lambda trajectory: trajectory.ending.actions,
    "error_steps": lambda trajectory: trajectory.ending.error_steps,
    "calls": lambda trajectory: len(trajectory.calls),
    "prompt_tokens": lambda trajectory: sum(call.reply.usage.prompt for call in trajectory.calls),
    "completion_tokens": lambda trajectory: sum(call.reply.usage.completion for call in trajectory.calls),
    "score": lambda trajectory: trajectory.ending.verdict.score,
    "solved": lambda trajectory: trajectory.ending.verdict.solved,
}
"""Maps each column of a Parquet file to the function that returns its value. The column ``trajectory`` is separate."""
INTEGERS = frozenset({"seed", "repeat", "actions", "error_steps", "calls", "prompt_tokens", "completion_tokens"})
TRAJECTORY = "trajectory"


class BadEpisode(ValueError):
    """An episode cannot be written to the file, or a line or row that was read is not a valid episode.

    ``faults`` lists the reasons.
    """

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def line_of(trajectory: Trajectory) -> str:
    """Return the episode as one line of JSON. Equal episodes have equal lines."""
    value = sanitize(trajectory.model_dump(mode="json"))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sanitize(value: Any) -> Any:
    """Return a value that every JSON reader accepts: lone surrogates become "?", NaN and infinity become None."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, dict):
        return {sanitize(key): sanitize(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sanitize(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def write_rows(episodes: Iterable[Trajectory], file: BinaryIO) -> None:
    """Write episodes as Parquet. Raises BadEpisode if a value does not fit its column."""
    arrow, parquet = import_arrow()
    column_types = {name: arrow.int64() if name in INTEGERS else arrow.string() for name in (*COLUMNS, TRAJECTORY)}
    column_types |= {"score": arrow.float64(), "solved": arrow.bool_()}
    schema = arrow.schema(list(column_types.items()), metadata={"schema": TRAJECTORY_SCHEMA})
    records = map(_row, episodes)
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        while group := list(islice(records, ROWS_PER_GROUP)):
            try:
                writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            except (arrow.ArrowException, OverflowError) as error:
                raise BadEpisode(f"the episodes up to {group[-1]['task']} do not fit into Parquet: {error}") from error


def _row(episode: Trajectory) -> dict[str, Any]:
    return {name: sanitize(value_of(episode)) for name, value_of in COLUMNS.items()} | {TRAJECTORY: line_of(episode)}


def import_arrow() -> tuple[Any, Any]:
    """Import pyarrow, which takes a quarter of a second. Raises MissingRequirement if it is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise missing_extra("parquet", "Parquet") from error
    return pyarrow, parquet
