"""Reads and plays the examples in demonstrations for executors.

An example is a section with the comment ``<!-- task: ID -->``. It also has ``<!-- before: CODE -->`` if code ran before
the example, and ``<!-- note: TEXT -->`` if that code left a note. The text has the first observation (for whole tasks),
``Current situation:``, ``Subtask:``, and the replies, each with its feedback.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from planbook.envs import Selection, load_environment
from planbook.planner import Ending, Episode, Options, play
from planbook.planner.models.stand_ins import ScriptedModel
from planbook.planner.strategies.adapt.executor import EXECUTOR, ExecutorOptions, Subtask, execute, handover
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import OneModel, episode

_TASK = re.compile(r"<!-- task: (\S+) -->\n")
_BEFORE = re.compile(r"<!-- before:\n(.*?)-->\n", re.DOTALL)
_NOTE = re.compile(r"<!-- note: (.*?) -->\n")
_BODY = re.compile(
    r"(?P<scene>.*?)(?:^Current situation: (?P<handed>[^\n]*)\n+)?^Subtask: (?P<work>[^\n]*)\n+(?P<rest>.*)",
    re.DOTALL | re.MULTILINE,
)
_TURN = re.compile(r"(?P<reply>.*?```python\n.*?\n```)\n\nWhat happened:\n(?P<happened>.*?)(?:\n\n|\n*\Z)", re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One example. ``quoted_feedback`` is the feedback that it quotes, one text for each reply."""

    title: str
    task: str
    before: str
    note: str
    scene: str
    handed: str
    work: str
    replies: tuple[str, ...]
    quoted_feedback: tuple[str, ...]


@dataclass(frozen=True)
class PlayedExample:
    """The result of playing an example. ``feedback`` has the real feedback for each reply."""

    ending: Ending
    scene: str
    handed: str
    feedback: tuple[str, ...]


def examples(path: Path) -> Iterator[Example]:
    """Yield the examples of a file."""
    for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        task, before, note = _TASK.search(body), _BEFORE.search(body), _NOTE.search(body)
        body_parts = _BODY.fullmatch(_NOTE.sub("", _BEFORE.sub("", _TASK.sub("", body))))
        assert task, f"{path}: the example {title!r} names no task"
        assert body_parts, f"{path}: the example {title!r} has no subtask"
        turns = list(_TURN.finditer(body_parts["rest"]))
        assert "".join(turn[0] for turn in turns).strip() == body_parts["rest"].strip(), f"{path}: {title}"
        yield Example(
            title=title,
            task=task[1],
            before=before[1] if before else "",
            note=note[1] if note else "",
            scene=body_parts["scene"].strip(),
            handed=body_parts["handed"] or "",
            work=body_parts["work"],
            replies=tuple(turn["reply"] for turn in turns),
            quoted_feedback=tuple(turn["happened"] for turn in turns),
        )


def played(sandbox: Sandbox, environment_name: str, example: Example) -> PlayedExample:
    """Play an example with an executor whose model gives the replies of the example."""
    environment_class = load_environment(environment_name)
    [task] = environment_class.select(Selection(ids=(example.task,)))
    model, handed = ScriptedModel(example.replies), list[str]()

    def strategy(playing: Episode, options: object) -> None:
        if example.before:
            playing.run(example.before, source="before")
        handed.append(_handed(playing, example.note))
        subtask = Subtask(text=example.work, handed=handed[0])
        execute(playing, subtask, ExecutorOptions(), len(example.replies))

    with closing(environment_class()) as environment:
        actions = environment_class.action_limit
        playing = episode(sandbox, OneModel(model), environment=environment, task=task, actions=actions)
        ending = play(playing, strategy, Options())
        feedback = tuple(cell.feedback.text for cell in playing.cells if cell.source == EXECUTOR)
        return PlayedExample(ending, playing.observation.text, handed[0], feedback)


def is_shortened(quoted: str, real: str) -> bool:
    """Return whether ``quoted`` is ``real`` with pieces left out, each of which is replaced by three dots."""
    return re.fullmatch(".*?".join(map(re.escape, quoted.split("..."))), real, re.DOTALL) is not None


def _handed(episode: Episode, note: str) -> str:
    """Return what the executor is told about the work done before it."""
    if episode.environment.handoff == "note" or not episode.steps:
        return handover(episode, note)
    return handover(episode, f"agent.{episode.steps[-1].action} -> {episode.steps[-1].observation.text}")
