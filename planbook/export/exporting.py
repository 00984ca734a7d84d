"""Writing episodes of runs to a file: whole trajectories, or the conversations with models."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict

from planbook.errors import BadArgument
from planbook.export.files import BadEpisode, line_of, to_write, write_rows
from planbook.planner import (
    NO_ANSWER,
    NOT_RUN,
    PROMPTS,
    Call,
    Ending,
    FeedbackKind,
    Message,
    RunFacts,
    Trajectory,
    read_trajectory,
)
from planbook.results import NOT_PLAYED
from planbook.runs import Entry, Run, last_path, recorded_endings, without_folders
from planbook.sandbox import did_you_mean
from planbook.wording import UNPLAYED

UNFINISHED = "unfinished"


class ExportChoice(BaseModel):
    """The episodes to write, and the parts of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solved: bool = False
    """Only episodes that were solved."""
    types: tuple[str, ...] = ()
    """Only these task types."""
    everything: bool = False
    """Write BROKEN episodes whole, too."""
    prompts: bool = True
    """Write the messages sent to models."""
    roles: tuple[str, ...] = ()
    """Of chat: only conversations of these roles."""
    with_repairs: bool = False
    """Of chat: unusable replies, too, with the complaints about them."""


class Exported(BaseModel):
    """The object that ends standard output.

    ``left_out`` counts episodes by reason; ``task_only`` those of which task and ending alone are written, so that they
    stay in the denominator.
    """

    model_config = ConfigDict(frozen=True)

    form: str
    out: str
    episodes: int
    conversations: int | None
    """Of chat: the lines."""
    replies: int | None
    """Of chat: replies of models in the episodes, whatever the role; 0 where none was asked."""
    left_out: dict[str, int]
    task_only: dict[str, int] = {}
    runs: tuple[str, ...]


@dataclass
class Counts:
    """Counts of what was written, and of what was not."""

    left_out: Counter[str] = field(default_factory=Counter)
    task_only: Counter[str] = field(default_factory=Counter)
    episodes: int = 0
    conversations: int = 0
    replies: int = 0


def export(folders: Sequence[Path], form: str, out: Path, choice: ExportChoice) -> Exported:
    """Write the episodes of runs, in their order. Raises BadArgument, BadRun."""
    check_types(folders, choice.types)
    counts = Counts()
    with to_write(out) as file:
        episodes = _counted(folders, choice, counts)
        try:
            if form == "parquet":
                write_rows(((each, line_of(each)) for each in episodes), file)
            elif form == "chat":
                _write_conversations(episodes, choice, counts, file)
            else:
                file.writelines(f"{line_of(each)}\n".encode() for each in episodes)
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


def _write_conversations(episodes: Iterator[Trajectory], choice: ExportChoice, counts: Counts, file: BinaryIO) -> None:
    for trajectory in episodes:
        counts.replies += len(trajectory.calls)
        for conversation in conversations_of(trajectory, choice.roles, with_repairs=choice.with_repairs):
            counts.conversations += 1
            file.write(f"{conversation_line(conversation)}\n".encode())


def check_types(folders: Sequence[Path], types: Sequence[str]) -> None:
    """Check that some episode is of each type, before a file is begun. Raises BadArgument, BadRun."""
    if not types:
        return
    known = set[str]()
    for folder in folders:
        with closing(Run.open(folder)) as run:
            known.update(entry.task.type for entry in run.entries())
    if unknown := [kind for kind in types if kind not in known]:
        there = did_you_mean(unknown[0], sorted(known)) if known else "; there are no episodes"
        raise BadArgument(f"--types: no episode is of the type {unknown[0]!r}{there}")


def _counted(folders: Sequence[Path], choice: ExportChoice, counts: Counts) -> Iterator[Trajectory]:
    for folder in folders:
        with closing(Run.open(folder)) as run:
            yield from chosen(run, choice, counts)


def chosen(run: Run, choice: ExportChoice, counts: Counts) -> Iterator[Trajectory]:
    """Give the chosen episodes of a run; the others are counted by the reason why they are left out.

    Of episodes that were not played, only task and ending are given.
    """
    endings, same = recorded_endings(run), None if run.imported else facts_of(run, 0)
    for entry in run.entries():
        ending = endings.get(entry.index)
        if why := _why_not(entry, ending, choice):
            counts.left_out[why] += 1
            continue
        facts = same or facts_of(run, entry.index)
        if faulty := _not_played(ending, choice):
            counts.task_only[faulty] += 1
            yield Trajectory(task=entry.task, repeat=entry.repeat, run=facts, ending=ending or NOT_PLAYED)
        else:
            counts.episodes += 1
            trajectory = trajectory_of(run, entry, facts)
            yield trajectory if choice.prompts else _without_prompts(trajectory)


def facts_of(run: Run, index: int) -> RunFacts:
    """Return the facts about the run that an episode comes from; of an imported one, about the run that it left."""
    if run.imported is not None:
        return RunFacts.model_validate(run.imported.facts_of(index))
    environment = next((event.body for event in run.store.events("run", "versions")), {})
    config = without_folders(run.config)
    return RunFacts(
        planner=config.planner,
        config=config.model_dump(mode="json"),
        begun=run.begun,
        versions=run.versions,
        environment={name: str(version) for name, version in environment.items()},
    )


def trajectory_of(run: Run, entry: Entry, facts: RunFacts) -> Trajectory:
    """Return an episode that has ended, as it was last started over; ``facts`` are those of its run."""
    path = last_path(run, entry)
    found = read_trajectory(path, run.store.events(path), entry.task)
    return found.model_copy(update={"repeat": entry.repeat, "run": facts})


def _without_prompts(trajectory: Trajectory) -> Trajectory:
    """Return the episode without what was sent to models; their replies stay."""
    calls = tuple(call.model_copy(update={"messages": ()}) for call in trajectory.calls)
    return trajectory.model_copy(update={"calls": calls})


def _why_not(entry: Entry, ending: Ending | None, choice: ExportChoice) -> str:
    if choice.types and entry.task.type not in choice.types:
        return "of other types"
    return "not solved" if choice.solved and not (ending and ending.outcome.solved) else ""


def _not_played(ending: Ending | None, choice: ExportChoice) -> str:
    """Return the reason why no more than task and ending is written; empty where all of the episode is."""
    if ending is None or choice.everything:
        return "" if ending else UNFINISHED
    return ending.outcome.name if ending.outcome in UNPLAYED else ""


PROBLEM = "\0"
BEFORE, AFTER = PROMPTS["repair"].render(problem=PROBLEM).split(PROBLEM)
"""The beginning and the end of a complaint about an unusable reply."""
Conversation = tuple[Message, ...]


def conversation_line(conversation: Conversation) -> str:
    """Return one line of the file."""
    messages = [{"role": message.role, "content": message.content} for message in conversation]
    return json.dumps({"messages": messages}, ensure_ascii=False, separators=(",", ":"))


def conversations_of(
    trajectory: Trajectory, roles: Collection[str] = (), *, with_repairs: bool = False
) -> list[Conversation]:
    """Return the conversations of an episode, of these roles or of all, in the order in which they ended."""
    calls = [_as_written(call) for call in sorted(trajectory.calls, key=lambda call: call.order)]
    unusable = set(_unusable(trajectory, calls))
    talks: dict[Conversation, None] = {}
    for call in calls:
        if roles and call.role not in roles:
            continue
        asked = call.messages if with_repairs else without_complaint(call.messages)
        for length in range(1, len(asked) + 1):
            talks.pop(asked[:length], None)  # this one goes on from there
        if with_repairs or call.order not in unusable:
            talks[*asked, _said(call)] = None
    last = {call.messages for call in calls if call.order in unusable}
    return [talk for talk in talks if fits(talk) and not (with_repairs and talk[:-1] in last)]


def fits(talk: Sequence[Message]) -> bool:
    """Return whether the format takes it: perhaps a system message, then user and assistant in turn, to the last."""
    turns = talk[1:] if talk and talk[0].role == "system" else talk
    in_turn = all(each.role == ("user", "assistant")[place % 2] for place, each in enumerate(turns))
    return len(turns) >= 2 and len(turns) % 2 == 0 and in_turn and all(each.content.strip() for each in talk)


def without_complaint(messages: Conversation) -> Conversation:
    """Return the messages without an unusable reply and the complaint about it at their end."""
    last = messages[-1] if messages else None
    complains = last is not None and last.role == "user" and _complains(last.content)
    return messages[:-2] if complains and len(messages) > 2 and messages[-2].role == "assistant" else messages


def _complains(text: str) -> bool:
    return text.startswith(BEFORE) and text.endswith(AFTER) and len(text) > len(BEFORE) + len(AFTER)


def _as_written(call: Call) -> Call:
    """Return the call with the replies before it as the model wrote them, without marks of what was not run."""
    messages = (
        message.model_copy(update={"content": message.content.replace(f"\n{NOT_RUN}", "")})
        if message.role == "assistant"
        else message
        for message in call.messages
    )
    return call.model_copy(update={"messages": tuple(messages)})


def _said(call: Call) -> Message:
    return Message(role="assistant", content=call.reply.text or NO_ANSWER)


def _unusable(trajectory: Trajectory, calls: Sequence[Call]) -> Iterator[int]:
    """Give the calls with an unusable reply: nothing came, it was complained about, or its cell says that none came."""
    given_up = {
        (cell.scope, cell.order)
        for played in trajectory.rounds
        for cell in played.cells
        if cell.feedback.kind is FeedbackKind.PARSE
    }
    for place, call in enumerate(calls):
        later = [each for each in calls[place + 1 :] if each.scope == call.scope]
        complaint = bool(later) and later[0].messages[:-1] == (*without_complaint(call.messages), _said(call))
        complained = complaint and _complains(later[0].messages[-1].content)
        if not call.reply.text.strip() or complained or (call.scope, call.order + 1) in given_up:
            yield call.order
