"""A trajectory is read from the events of an episode, equals what happened, and is rendered as text for prompts."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.planner import (
    Ending,
    Episode,
    MemoryJournal,
    Options,
    Outcome,
    Round,
    Step,
    Trajectory,
    play,
    read_trajectory,
    render_trajectory,
)
from planbook.planner.types import Thought
from planbook.sandbox import Limits, Sandbox
from tests.planner import episode_kit
from tests.planner.episode_kit import FixedMemory
from tests.spanning import Row, rows_of

TASK = Toy.tasks(Selection(ids=("fetch_two/0",)))[0]
THOUGHT = Thought(text="I think so.", understanding="I think so.")


MEMORY = FixedMemory(text="Look first.", helpers="def f():\n    pass")


def episode(sandbox: Sandbox, journal: MemoryJournal, path: str = "task/3") -> Episode:
    settings: dict[str, Any] = {"actions": 12, "limits": Limits(wall_seconds=2), "memory": MEMORY}
    return episode_kit.episode(sandbox, task=TASK, environment=Toy(), journal=journal, path=path, **settings)


PLANS = st.sampled_from(
    [
        "agent.open('box_1')",
        "agent.open(box='box_2')\nprint('seen')\nagent.open('box_3')",
        "for n in range(1, 4):\n    agent.take('key', f'box_{n}')",
        "agent.open('box_1')\nassert False, 'stop'",
        "print(agent.table())",
        "agent.opne('box_1')",
        "agent.open(",
    ]
)
UNDONE = ["mark", "run", "rewind"]
VERBS = st.lists(
    st.sampled_from([UNDONE, ["run"], ["run"], ["mark"], ["rewind"], ["frame"], ["leave"], ["round"]]), max_size=10
).map(lambda parts: [verb for part in parts for verb in part])


@settings(max_examples=30)
@given(VERBS, st.data())
def test_a_trajectory_holds_what_the_episode_saw(sandbox: Sandbox, verbs: list[str], data: st.DataObject) -> None:
    journal = MemoryJournal()
    playing = episode(sandbox, journal)
    seen: list[tuple[Step, ...]] = []

    def strategy(playing: Episode, options: object) -> None:
        frames, marks = [ExitStack()], list[Any]()
        for verb in verbs:
            if verb in ("frame", "leave", "round"):
                marks.clear()
            if verb == "run":
                playing.run(data.draw(PLANS), thought=THOUGHT)
            elif verb == "mark":
                marks.append(playing.mark())
            elif verb == "rewind" and marks:
                playing.rewind(marks[-1])
            elif verb == "frame":
                frames.append(ExitStack())
                frames[-1].enter_context(playing.frame("inner"))
            elif verb == "leave" and len(frames) > 1:
                frames.pop().close()
            elif verb == "round":
                seen.append(tuple(playing.steps))
                playing.new_round()

    ending = play(playing, strategy, Options())
    seen.append(tuple(playing.steps))
    read = read_trajectory("task/3", rows_of(journal))
    steps_read = [
        [step.model_copy(update={"order": None, "scope": f"task/3/{step.scope}"}) for step in played.steps]
        for played in read.rounds
    ]
    assert steps_read == [[step.model_copy(update={"order": None}) for step in steps] for steps in seen]
    assert [cell.feedback for played in read.rounds for cell in played.cells] == playing.feedbacks
    assert [played.number for played in read.rounds] == list(range(len(seen)))
    assert read.ending == ending
    assert read.ending.actions == sum(step.counted for steps in seen for step in steps)
    text = render_trajectory(read)
    assert text.count("## Feedback") == len(playing.feedbacks)
    assert text.count("## First observation") == len(seen)
    assert text.count("## Round") == (len(seen) if len(seen) > 1 else 0)


def three_cells(playing: Episode, options: object) -> None:
    playing.recall()
    playing.run("print(agent.open('box_1'))", source="planner", thought=THOUGHT)
    with playing.frame("achieve"):
        playing.run("agent.open('box_2')\nagent.open('box_99')\nagent.take('moon', 'box_1')", source="planner")
    playing.run("agent.open('box_3')", source="fetch.py")


def events_of(sandbox: Sandbox, path: str = "task/3") -> list[Row]:
    journal = MemoryJournal()
    play(episode(sandbox, journal, path), three_cells, Options())
    return rows_of(journal)


def test_paths_of_restarts_and_of_longer_numbers_belong_to_other_episodes(sandbox: Sandbox) -> None:
    events = {path: events_of(sandbox, path) for path in ("task/3", "task/3/restart/1", "task/31")}
    mixed = [event for each in zip(*events.values(), strict=True) for event in each]
    for path, own in events.items():
        assert read_trajectory(path, mixed) == read_trajectory(path, own)
        assert read_trajectory(path, mixed).path == path


def test_an_episode_cut_off_anywhere_is_read_up_to_there(sandbox: Sandbox) -> None:
    events = events_of(sandbox)
    complete = read_trajectory("task/3", events)
    first = next(number for number, event in enumerate(events) if event.kind == "task")
    for cut in range(first + 1, len(events)):
        read = read_trajectory("task/3", events[:cut])
        assert read.ending.outcome is Outcome.NOT_RUN
        assert read.rounds[0].steps == complete.rounds[0].steps[: len(read.rounds[0].steps)]
        assert read.rounds[0].cells == complete.rounds[0].cells[: len(read.rounds[0].cells)]
        assert "The task was not done." in render_trajectory(read)


@pytest.mark.parametrize(
    "events", [[], [Row("task/3", "outcome", {"outcome": "not_run"})], [Row("task/3", "recall", {})]]
)
def test_an_episode_that_has_not_begun_cannot_be_read(events: Sequence[Row]) -> None:
    with pytest.raises(LookupError, match="task/3: no episode has begun there"):
        read_trajectory("task/3", events)


def test_the_text_has_plans_procedures_feedback_refusals_and_optionally_thoughts(sandbox: Sandbox) -> None:
    read = read_trajectory("task/3", events_of(sandbox))
    assert (read.knowledge, read.helpers) == ("Look first.", "def f():\n    pass")
    text, without_thoughts = render_trajectory(read), render_trajectory(read, thoughts=False)
    assert text.replace("I think so.\n\n", "") == without_thoughts != text
    parts = ["## Plan 1", "I think so.", "print(agent.open('box_1'))", "## Feedback 1", "## Plan 2", "## Feedback 2"]
    places = [text.index(part) for part in (*parts, "## Procedure 3", "agent.open('box_3')\n```", "## Feedback 3")]
    assert places == sorted(places)
    assert "## Round" not in text
    assert "2 of the 5 actions were refused and had no effect." in text


def text_of(ending: Ending) -> str:
    rounds = (Round(number=0, observation="A room."),)
    return render_trajectory(Trajectory(path="task/3", task=TASK, rounds=rounds, ending=ending))


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (Ending(outcome=Outcome.DIRECT_SUCCESS), "The task was done; no plan ended in an error."),
        (Ending(outcome=Outcome.INDIRECT_SUCCESS, error_steps=2), "The task was done."),
        (
            Ending(outcome=Outcome.FAILURE, cause="out_of_budget", actions=30),
            "all 30 allowed actions",
        ),
        (Ending(outcome=Outcome.FAILURE, cause="raised"), "The task was not done."),
    ],
)
def test_the_text_ends_with_the_result(ending: Ending, text: str) -> None:
    assert text in text_of(ending).splitlines()[-1]
