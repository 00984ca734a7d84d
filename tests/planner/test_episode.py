"""The verbs of an episode, on the toy environment and in the real sandbox."""

import time

import pytest

from planbook.envs import Action, Observation, Selection, Task, Verdict, action
from planbook.envs.toy import Toy
from planbook.planner import (
    Body,
    Episode,
    EpisodeBroken,
    EpisodeOver,
    EpisodeSettings,
    EpisodeStopped,
    EventKind,
    FeedbackKind,
    JournalFailed,
    JournalMismatch,
    MemoryJournal,
    Options,
    Outcome,
    ScriptedModel,
    method,
    play,
)
from planbook.planner.errors import WrongMark
from planbook.planner.roles import Roles
from planbook.sandbox import Limits, Sandbox

SOLVE = """
for number in range(1, 9):
    if task.params["things"][0] in agent.open(f"box_{number}"):
        agent.take(task.params["things"][0], f"box_{number}")
        break
agent.put(task.params["things"][0])
print("never reached")
"""


def stop() -> None:
    raise EpisodeStopped


def episode(
    sandbox: Sandbox, environment: Toy | None = None, journal: MemoryJournal | None = None, **terms: object
) -> Episode:
    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    given = EpisodeSettings(**{"actions": 30, **terms})  # type: ignore[arg-type]
    return Episode(
        task, environment or Toy(), sandbox, journal if journal is not None else MemoryJournal(), settings=given
    )


def test_a_model_whose_plans_never_pass_the_check_is_not_asked_for_ever(sandbox: Sandbox) -> None:
    asked = ScriptedModel(lambda messages, sampling: "```python\nagent.fly_to('moon')\n```")
    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    roles = Roles(lambda role: asked, {})
    played = Episode(task, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=30), roles=roles)
    react = method("react")
    ending = play(played, react.play, react.options())
    assert (ending.cause, len(played.cells)) == ("check", 10)
    assert ending.message == "10 plans in a row did not pass the check"


def test_the_action_that_ends_the_episode_does_not_return(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    with pytest.raises(EpisodeOver):
        played.run(SOLVE)
    assert played.feedbacks[-1].kind is FeedbackKind.DONE
    assert played.feedbacks[-1].output == ""
    assert played.ending().outcome is Outcome.DIRECT_SUCCESS
    assert [step.line for step in played.steps][-2:] == [4, 6]
    played.close()


def test_a_success_after_an_error_is_indirect(sandbox: Sandbox) -> None:
    def strategy(playing: Episode, options: object) -> None:
        assert playing.run("agent.opne('box_1')").kind is FeedbackKind.CHECK
        assert playing.run("agent.open('box_1')\nassert False, 'stop here'").kind is FeedbackKind.RAISED
        playing.run(SOLVE)

    ending = play(episode(sandbox), strategy, Options())
    assert ending.outcome is Outcome.INDIRECT_SUCCESS
    assert ending.cause == ""


def test_a_plan_that_stops_early_is_unfinished_and_keeps_its_names(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    first = played.run("seen = agent.open('box_1')\nprint(seen)")
    assert first.kind is FeedbackKind.UNFINISHED
    assert "You open box_1" in first.output
    assert played.run("assert seen.startswith('You open')").kind is FeedbackKind.UNFINISHED
    assert played.ending().outcome is Outcome.FAILURE
    assert played.ending().cause == "unfinished"
    played.close()


def test_feedback_tells_an_observation_once(sandbox: Sandbox) -> None:
    """Printed, or in an assertion's message, it is a mark; what was printed is kept whole beside the text."""
    played = episode(sandbox)
    played.begin()
    code = "seen = agent.open('box_1')\nprint('saw:', seen)\ntold = agent.take('unicorn', 'box_1')\nassert False, told"
    feedback = played.run(code)
    assert "Printed:\nsaw: [what action 1 returned]\n" in feedback.text
    assert "AssertionError: [what action 2 returned]" in feedback.text
    assert feedback.text.count("You open box_1") == feedback.text.count("you see no unicorn") == 1
    assert "You open box_1" in feedback.output
    played.close()


def test_feedback_tells_actions_fault_line_and_state(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    feedback = played.run("agent.open('box_1')\n\nagent.take('unicorn', 'box_1')\nraise KeyError('unicorn')")
    assert feedback.line == 4
    assert "1. agent.open('box_1') -> You open box_1" in feedback.text
    assert "2. agent.take('unicorn', 'box_1') -> Nothing happens: you see no unicorn in box_1." in feedback.text
    assert "raise KeyError('unicorn')" in feedback.text
    assert feedback.text.endswith("Current state: You hold nothing. On the table: nothing.")
    played.close()


def test_attributes_follow_the_environment(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    found = played.run(SOLVE.replace("agent.put", "assert agent.holding == task.params['things'][0]\n#"))
    assert found.kind is FeedbackKind.UNFINISHED, found.text
    assert played.run("agent.holding = 'key'").kind is not FeedbackKind.UNFINISHED
    played.close()


def test_actions_run_out(sandbox: Sandbox) -> None:
    ending = play(
        episode(sandbox, actions=2), lambda playing, _: void(playing.run("while True: agent.open('box_1')")), Options()
    )
    assert (ending.outcome, ending.cause, ending.actions) == (Outcome.OUT_OF_BUDGET, "out_of_budget", 2)


def void(_: object) -> None:
    return None


def test_a_rewind_takes_back_environment_and_namespace_but_not_the_count(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    played.run("opened = [agent.open('box_1')]")
    mark = played.mark()
    state = played.environment.state()
    played.run("opened.append(agent.open('box_2'))\nextra = 1")
    played.rewind(mark)
    assert played.environment.state() == state
    assert [step.undone for step in played.steps] == [False, True]
    assert played.actions == 2
    assert played.run("print(len(opened))").output == "1\n"
    assert played.run("print(extra)").kind is FeedbackKind.CHECK
    played.close()


def test_a_mark_belongs_to_its_frame(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    mark = played.mark()
    with played.frame("other"), pytest.raises(WrongMark, match="belongs to frame"):
        played.rewind(mark)
    played.close()


def test_nested_plans_have_frames_of_their_own_and_share_the_budget(sandbox: Sandbox) -> None:
    played = episode(sandbox, actions=3)

    def achieve(depth: int) -> bool:
        with played.frame("achieve", {"achieve": typed}):
            inner = played.run("outer" if depth < 0 else f"agent.open('box_1')\nachieve({depth + 1})")
        return inner.kind is FeedbackKind.UNFINISHED

    def typed(depth: int) -> bool:
        """Go one level deeper."""
        return achieve(depth)

    ending = play(played, lambda playing, _: void(achieve(0)), Options())
    assert (ending.outcome, ending.actions) == (Outcome.OUT_OF_BUDGET, 3)
    assert [feedback.kind for feedback in played.feedbacks] == [FeedbackKind.LIMIT] * 4
    assert [step.scope.count("achieve") for step in played.steps] == [1, 2, 3]


def test_frames_pass_only_what_is_given(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    played.run("secret = 1")
    with played.frame("inner", helpers="def double(x):\n    return 2 * x"):
        assert played.run("print(double(4))").output == "8\n"
        assert played.run("print(secret)").kind is FeedbackKind.CHECK
    assert played.run("print(secret)").output == "1\n"
    played.close()


def test_a_limit_ends_the_cell_and_the_namespace_comes_back(sandbox: Sandbox) -> None:
    played = episode(sandbox, limits=Limits(wall_seconds=0.5))
    played.begin()
    played.run("opened = agent.open('box_1')")
    assert played.run("while True:\n    pass").kind is FeedbackKind.LIMIT
    assert played.run("print(opened[:8])").output == "You open\n"
    assert played.actions == 1
    played.close()


def test_a_new_round_begins_again_with_a_fresh_namespace(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    first = played.begin()
    played.run("x = agent.open('box_1')")
    assert played.new_round() == first
    assert played.steps == []
    assert played.actions == 1
    assert played.run("print(x)").kind is FeedbackKind.CHECK
    played.close()


class Breaking(Toy):
    """An environment whose lid is a bug."""

    @action()
    def open(self, box: str) -> Observation:
        """Open a box."""
        raise ZeroDivisionError("a bug in the world")


def test_a_bug_of_the_environment_is_broken_and_never_reaches_the_plan(sandbox: Sandbox) -> None:
    code = "try:\n    agent.open('box_1')\nexcept BaseException:\n    print('caught')"
    played = episode(sandbox, Breaking())
    ending = play(played, lambda playing, _: void(playing.run(code)), Options())
    assert ending.outcome is Outcome.BROKEN
    assert "ZeroDivisionError: a bug in the world" in ending.message


def test_helpers_that_cannot_be_defined_are_our_fault(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    with pytest.raises(EpisodeBroken, match="helpers cannot be defined"), played.frame("inner", helpers="1/0"):
        pass


def test_a_stopped_run_leaves_no_ending(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    stopped = Episode(task, Toy(), sandbox, journal, settings=EpisodeSettings(actions=9), guard=stop)
    with pytest.raises(EpisodeStopped):
        play(stopped, lambda playing, _: void(playing.run("agent.open('box_1')")), Options())
    assert "outcome" not in {kind for _, kind, _ in journal.events}


def solve(playing: Episode, options: object) -> None:
    playing.run("print(agent.open('box_1'))")
    playing.run(SOLVE)


def test_a_journal_that_cannot_be_repeated_is_told(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    play(episode(sandbox, journal=journal), solve, Options())
    key = next(key for key in journal.events if key[1] == "act")
    changed = dict(journal.events[key])
    changed["observation"] = {"text": "You open box_1. In it, you see a dragon."}
    journal.events[key] = changed
    with pytest.raises(JournalMismatch, match="dragon"):
        play(episode(sandbox, journal=journal), solve, Options())


def test_random_numbers_follow_the_seed_and_the_frame_only(sandbox: Sandbox) -> None:
    def numbers(seed: str, path: str) -> str:
        played = Episode(
            Toy.tasks(Selection(ids=("fetch/0",)))[0],
            Toy(),
            sandbox,
            MemoryJournal(),
            settings=EpisodeSettings(actions=1, seed=seed),
            path=path,
        )
        played.begin()
        output = played.run("import random\nprint([random.randint(0, 9) for _ in range(20)])").output
        played.close()
        return output

    assert numbers("1", "task/4") == numbers("1", "task/5")
    assert numbers("1", "task/4") != numbers("2", "task/4")


def test_queries_are_no_steps(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    assert played.run("print(agent.table())").output == "[]\n"
    assert played.steps == []
    assert played.actions == 0
    played.close()


def test_an_action_is_what_its_call_means(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    played.run("list(map(agent.open, ['box_1', 'box_2']))\nagent.take(box='box_1', thing='unicorn')")
    assert [step.action for step in played.steps] == [
        Action("open", ("box_1",)),
        Action("open", ("box_2",)),
        Action("take", ("unicorn", "box_1")),
    ]
    played.close()


class FullDisk(MemoryJournal):
    """A journal that takes two actions and no more."""

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        if kind == "act" and number == 2:
            raise OSError("no space left on device")
        super().put(scope, kind, number, body)


def test_a_store_that_fails_ends_the_episode_and_no_plan_hears_of_it(sandbox: Sandbox) -> None:
    code = "for n in (1, 2, 3):\n    try:\n        agent.open(f'box_{n}')\n    except BaseException:\n        pass"
    journal = FullDisk()
    with pytest.raises(JournalFailed, match="no space left"):
        play(episode(sandbox, journal=journal), lambda playing, _: void(playing.run(code)), Options())
    assert "outcome" not in {kind for _, kind, _ in journal.events}


class OverAtOnce(Toy):
    """An environment in which everything is done already."""

    def begin(self, task: Task) -> Observation:
        super().begin(task)
        return Observation("Nothing to do.", terminated=True)

    def verdict(self) -> Verdict:
        return Verdict(True, 1.0)


def test_an_environment_that_is_over_when_it_begins_is_solved_without_an_action(sandbox: Sandbox) -> None:
    ending = play(
        episode(sandbox, OverAtOnce()), lambda playing, _: void(playing.run("agent.open('box_1')")), Options()
    )
    assert (ending.outcome, ending.actions) == (Outcome.DIRECT_SUCCESS, 0)


def test_a_plan_that_fails_with_its_last_action_taken_is_told_by_its_own_cause(sandbox: Sandbox) -> None:
    code = "agent.open('box_1')\n1 / 0"
    ending = play(episode(sandbox, actions=1), lambda playing, _: void(playing.run(code)), Options())
    assert (ending.outcome, ending.cause) == (Outcome.FAILURE, "raised")


def test_steps_tell_what_was_printed_before_them(sandbox: Sandbox) -> None:
    played = episode(sandbox)
    played.begin()
    feedback = played.run("print('a')\nagent.open('box_1')\nprint('b')\nprint('c')\nagent.open('box_2')\nprint('d')")
    assert [step.printed for step in played.steps] == ["a\n", "b\nc\n"]
    assert feedback.output == "a\nb\nc\nd\n"
    played.close()


def test_a_stop_ends_a_plan_that_loops_at_once(sandbox: Sandbox) -> None:
    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    begun = time.monotonic()
    stopped = Episode(
        task,
        Toy(),
        sandbox,
        MemoryJournal(),
        settings=EpisodeSettings(actions=9),
        guard=lambda: stop() if time.monotonic() > begun + 0.3 else None,
    )
    with pytest.raises(EpisodeStopped):
        play(stopped, lambda playing, _: void(playing.run("while True:\n    pass")), Options())
    assert time.monotonic() - begun < 5
