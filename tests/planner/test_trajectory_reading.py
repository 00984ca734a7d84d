"""An episode read back from its events is what the episode saw, whatever its plans did; and how it is told."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.planner import (
    Cell,
    Ending,
    Episode,
    EpisodeOver,
    EpisodeSettings,
    MemoryJournal,
    Options,
    Outcome,
    Round,
    Step,
    Trajectory,
    play,
    read_trajectory,
    tell_trajectory,
)
from planbook.planner.memory import Recall
from planbook.planner.types import Thought
from planbook.sandbox import Limits, Sandbox
from tests.spanning import Row, rows_of

TASK = Toy.tasks(Selection(ids=("fetch_two/0",)))[0]
THOUGHT = Thought(text="I think so.", understanding="I think so.")


def episode(sandbox: Sandbox, journal: MemoryJournal, path: str = "task/3", actions: int = 12) -> Episode:
    settings = EpisodeSettings(actions=actions, limits=Limits(wall_seconds=2))
    return Episode(TASK, Toy(), sandbox, journal, settings=settings, path=path)


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
def test_what_is_read_back_is_what_the_episode_saw(sandbox: Sandbox, verbs: list[str], data: st.DataObject) -> None:
    journal = MemoryJournal()
    playing = episode(sandbox, journal)
    seen: list[tuple[Step, ...]] = []

    def strategy(playing: Episode, options: object) -> None:
        frames, marks = [ExitStack()], list[object]()
        for verb in verbs:
            if verb == "run":
                playing.run(data.draw(PLANS), thought=THOUGHT)
            elif verb == "mark":
                marks.append(playing.mark())
            elif verb == "rewind" and marks:
                playing.rewind(marks[-1])  # type: ignore[arg-type]
            elif verb == "frame":
                marks.clear()
                frames.append(ExitStack())
                frames[-1].enter_context(playing.frame("inner"))
            elif verb == "leave" and len(frames) > 1:
                marks.clear()
                frames.pop().close()
            elif verb == "round":
                marks.clear()
                seen.append(tuple(playing.steps))
                playing.new_round()

    ending = play(playing, strategy, Options())
    seen.append(tuple(playing.steps))
    read = read_trajectory("task/3", rows_of(journal))
    in_run = [[f"task/3/{step.scope}" for step in played.steps] for played in read.rounds]
    assert in_run == [[step.scope for step in steps] for steps in seen]
    told = [[step.model_dump(exclude={"order", "scope"}) for step in played.steps] for played in read.rounds]
    assert told == [[step.model_dump(exclude={"order", "scope"}) for step in steps] for steps in seen]
    assert [cell.feedback for played in read.rounds for cell in played.cells] == playing.feedbacks
    assert [played.number for played in read.rounds] == list(range(len(seen)))
    assert read.ending == ending
    assert read.ending.actions == sum(step.counted for steps in seen for step in steps)
    text = tell_trajectory(read)
    assert text.count("## Feedback") == len(playing.feedbacks)
    assert text.count("## First observation") == len(seen)


def two_cells(playing: Episode, options: object) -> None:
    playing.run("print(agent.open('box_1'))", source="planner", thought=THOUGHT)
    with playing.frame("achieve"):
        playing.run("agent.open('box_2')", source="planner")


def played(sandbox: Sandbox, path: str = "task/3") -> tuple[Ending, list[Row]]:
    journal = MemoryJournal()
    return play(episode(sandbox, journal, path), two_cells, Options()), rows_of(journal)


def test_an_episode_started_over_is_read_by_its_own_path(sandbox: Sandbox) -> None:
    """Neither a restart nor an episode whose number begins alike is taken for it."""
    one, again, other = (played(sandbox, path)[1] for path in ("task/3", "task/3/restart/1", "task/31"))
    mixed = [event for three in zip(one, again, other, strict=True) for event in three]
    for path, own in (("task/3", one), ("task/3/restart/1", again), ("task/31", other)):
        assert read_trajectory(path, mixed) == read_trajectory(path, own)
        assert read_trajectory(path, mixed).path == path


def test_an_episode_cut_off_anywhere_is_read_as_far_as_it_came(sandbox: Sandbox) -> None:
    _, events = played(sandbox)
    whole = read_trajectory("task/3", events)
    for cut in range(1, len(events)):
        read = read_trajectory("task/3", events[:cut])
        assert read.ending.outcome is Outcome.NOT_RUN
        assert read.rounds[0].steps == whole.rounds[0].steps[: len(read.rounds[0].steps)]
        assert read.rounds[0].cells == whole.rounds[0].cells[: len(read.rounds[0].cells)]
        assert tell_trajectory(read).endswith("The task was not done.")


@pytest.mark.parametrize(
    "events", [[], [Row("task/3", "outcome", {"outcome": "not_run"})], [Row("task/3", "recall", {})]]
)
def test_what_has_not_begun_cannot_be_read(events: Sequence[Row]) -> None:
    with pytest.raises(LookupError, match="task/3: no episode has begun there"):
        read_trajectory("task/3", events)


def test_what_was_known_beforehand_is_read_too(sandbox: Sandbox) -> None:
    class Knows:
        def recall(self, task: object) -> Recall:
            return Recall(text="Look first.", helpers="def f():\n    pass")

    journal = MemoryJournal()
    playing = Episode(TASK, Toy(), sandbox, journal, settings=EpisodeSettings(actions=1), path="task/3", memory=Knows())
    play(playing, lambda episode, options: void(episode.recall()), Options())
    read = read_trajectory("task/3", rows_of(journal))
    assert (read.knowledge, read.helpers) == ("Look first.", "def f():\n    pass")


def void(_: object) -> None:
    return None


def test_the_text_of_a_trajectory_with_and_without_thoughts(sandbox: Sandbox) -> None:
    read = read_trajectory("task/3", played(sandbox)[1])
    told, untold = tell_trajectory(read), tell_trajectory(read, thoughts=False)
    assert "I think so." in told
    assert "I think so." not in untold
    for text in (told, untold):
        assert text.index("## Plan 1") < text.index("print(agent.open('box_1'))") < text.index("## Feedback 1")
        assert text.index("## Feedback 1") < text.index("agent.open('box_2')\n```") < text.index("## Feedback 2")
        assert "## Round" not in text


def of(cells: Iterable[Cell], ending: Ending, rounds: int = 1) -> str:
    each = tuple(Round(number=number, observation=f"Scene {number}.", cells=tuple(cells)) for number in range(rounds))
    return tell_trajectory(Trajectory(path="task/3", task=TASK, rounds=each, ending=ending))


def test_the_result_says_how_it_ended(sandbox: Sandbox) -> None:
    assert of([], Ending(outcome=Outcome.DIRECT_SUCCESS)).endswith("The task was done; no plan ended in an error.")
    assert of([], Ending(outcome=Outcome.INDIRECT_SUCCESS, error_steps=2)).endswith("The task was done.")
    over = Ending(outcome=Outcome.OUT_OF_BUDGET, cause="out_of_budget", actions=30)
    assert "all 30 actions that were allowed have been used up" in of([], over)
    assert of([], Ending(outcome=Outcome.FAILURE, cause="raised")).endswith("The task was not done.")
    two = of([], Ending(outcome=Outcome.FAILURE), rounds=2)
    assert two.index("## Round 1") < two.index("Scene 0.") < two.index("## Round 2") < two.index("Scene 1.")


def test_actions_that_were_refused_are_counted(sandbox: Sandbox) -> None:
    def strategy(playing: Episode, options: object) -> None:
        playing.run("agent.open('box_1')\nagent.open('box_99')\nagent.take('moon', 'box_1')")

    journal = MemoryJournal()
    play(episode(sandbox, journal), strategy, Options())
    told = tell_trajectory(read_trajectory("task/3", rows_of(journal)))
    assert "2 of the 3 actions were refused, and had no effect." in told


def test_a_procedure_and_a_reply_without_code_are_told_as_such(sandbox: Sandbox) -> None:
    def strategy(playing: Episode, options: object) -> None:
        playing.run("agent.open('box_1')", source="fetch.py")
        raise EpisodeOver("no reply")

    journal = MemoryJournal()
    play(episode(sandbox, journal), strategy, Options())
    told = tell_trajectory(read_trajectory("task/3", rows_of(journal)))
    assert "## Procedure 1" in told
    assert "## Plan" not in told
