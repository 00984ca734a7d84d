"""The toy environment, and what every environment inherits."""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import TypeAdapter

from planbook.envs import Action, Diverged, Environment, EpisodeEnded, Observation, Selection, UnknownAction, action
from planbook.envs.toy import THINGS, Toy
from tests.envs.playing import started

CALLS = st.one_of(
    st.builds(lambda n: Action("open", (f"box_{n}",)), st.integers(0, 9)),
    st.builds(lambda t, n: Action("take", (t, f"box_{n}")), st.sampled_from(THINGS), st.integers(0, 9)),
    st.builds(lambda t: Action("put", (t,)), st.sampled_from(THINGS)),
)


class ToyRestoredByReplay(Toy):
    """The toy environment without a copy of its state, so that snapshots are restored by replaying the actions."""

    def _save(self) -> object:
        return None


@given(before=st.lists(CALLS, max_size=12), after=st.lists(CALLS, max_size=12))
def test_both_ways_of_restoring_lead_to_the_same_state(before: list[Action], after: list[Action]) -> None:
    texts = []
    for kind in (Toy, ToyRestoredByReplay):
        environment = started(kind, "fetch_two/3")
        walk(environment, before)
        snapshot, state = environment.snapshot(), environment.state()
        walk(environment, after)
        assert environment.restore(snapshot) == snapshot.last
        assert environment.state() == state
        texts.append([observation.text for observation in walk(environment, after)])
    assert texts[0] == texts[1]


def test_an_action_that_changes_its_argument_stays_as_it_was() -> None:
    class Shop(Toy):
        @action()
        def order(self, things: list[str]) -> str:
            """Order things, and a box for each."""
            things *= 2
            return str(things)

    shop, order = Shop(), Action("order", (["pen"],))
    shop.reset(Toy.tasks(Selection())[0])
    assert shop.act(order).text == shop.act(order).text
    assert shop.history[0][0] == Action("order", (["pen"],))


def test_a_refusal_ends_with_one_full_stop() -> None:
    assert [Observation.refused(reason).text for reason in ("it is open", "It is open already.")] == [
        "Nothing happens: it is open.",
        "Nothing happens: It is open already.",
    ]


def walk(environment: Toy, actions: list[Action]) -> list[Observation]:
    return [environment.act(each) for each in actions if not environment.ended]


def test_a_solution_ends_the_episode_and_later_actions_are_refused() -> None:
    environment = started(Toy, "fetch/0")
    assert environment.task is not None
    wanted = TypeAdapter(list[str]).validate_python(environment.task.params["things"])[0]
    for number in range(1, 9):
        if wanted in environment.act(Action("open", (f"box_{number}",))).text:
            environment.act(Action("take", (wanted, f"box_{number}")))
            break
    last = environment.act(Action("put", (wanted,)))
    assert last.terminated
    assert environment.verdict().solved
    with pytest.raises(EpisodeEnded, match="is over"):
        environment.act(Action("open", ("box_1",)))


def test_an_unknown_action_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UnknownAction, match=r"open, put, take"):
        started(Toy, "fetch/0").act(Action("fly"))


def test_an_action_before_the_first_reset_is_refused() -> None:
    with pytest.raises(EpisodeEnded, match="call reset"):
        Toy().act(Action("put", ("key",)))


def test_a_replay_with_another_observation_is_refused() -> None:
    class Forgetful(ToyRestoredByReplay):
        openings = 0

        @action()
        def open(self, box: str) -> Observation:
            """Open a box."""
            type(self).openings += 1
            return Observation(f"opening {self.openings}")

    environment = started(Forgetful, "fetch/0")
    environment.act(Action("open", ("box_1",)))
    with pytest.raises(Diverged, match=r"action 1, open\('box_1'\): expected 'opening 1', got 'opening 2'"):
        environment.restore(environment.snapshot())


def test_each_class_is_described_by_its_own_docstring_unless_about_is_set() -> None:
    kind: Any = Environment
    for members, about in (
        ({"__doc__": "The first."}, "The first."),
        ({"__doc__": "The second."}, "The second."),
        ({}, "The second."),
        ({"__doc__": "The third.", "about": "stated"}, "stated"),
        ({"__doc__": "The fourth."}, "stated"),
    ):
        kind = type("Derived", (kind,), members)
        assert kind.about == about


def test_a_method_that_overrides_an_action_is_that_action() -> None:
    class Lock:
        def open(self, box: str, key: str = "none") -> Observation:
            return Observation.refused(f"{box} is locked")

    class Locked(Lock, Toy):
        pass

    class LockedForever(Locked):
        def open(self, box: str, key: str = "any") -> Observation:
            """Try to open a box."""
            return Observation.refused(f"{box} has no key")

    class Apart(Toy):
        show = Lock.open

    for kind, refusal, doc in (
        (Locked, "is locked", Toy.actions["open"].doc),
        (LockedForever, "has no", "Try to open"),
    ):
        assert refusal in started(kind, "fetch/0").act(kind.actions["open"].bind("box_1")).text
        assert kind.actions["open"].doc.startswith(doc)
        assert "key" in kind.actions["open"].signature.parameters
    assert set(Apart.actions) == set(Toy.actions), "a mixin marks no other class"
    with pytest.raises(TypeError, match="overrides the action open, but not with a method"):
        type("NoOpening", (Toy,), {"open": None})


def test_a_call_is_bound_as_python_binds_it() -> None:
    spec = Toy.actions["take"]
    assert spec.bind("key", box="box_1") == Action("take", ("key", "box_1"))
    assert str(spec.bind("key", "box_1")) == "take('key', 'box_1')"
    with pytest.raises(TypeError, match="box"):
        spec.bind("key")
