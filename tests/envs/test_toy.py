"""The toy environment, and through it what every environment inherits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from planbook.envs import Action, Diverged, EpisodeEnded, Observation, Selection, UnknownAction, action
from planbook.envs.toy import THINGS, Toy

CALLS = st.one_of(
    st.builds(lambda n: Action("open", (f"box_{n}",)), st.integers(0, 9)),
    st.builds(lambda t, n: Action("take", (t, f"box_{n}")), st.sampled_from(THINGS), st.integers(0, 9)),
    st.builds(lambda t: Action("put", (t,)), st.sampled_from(THINGS)),
)


def begun(task_id: str = "fetch/0") -> Toy:
    environment = Toy()
    environment.reset(Toy.tasks(Selection(ids=(task_id,)))[0])
    return environment


class WithoutCopy(Toy):
    """The toy environment with the snapshots that environments without a cheap copy get."""

    def _save(self) -> object:
        return None


@given(before=st.lists(CALLS, max_size=12), after=st.lists(CALLS, max_size=12))
def test_both_ways_of_restoring_lead_to_the_same_state(before: list[Action], after: list[Action]) -> None:
    texts = []
    for kind in (Toy, WithoutCopy):
        environment = kind()
        environment.reset(Toy.tasks(Selection(ids=("fetch_two/3",)))[0])
        walk(environment, before)
        snapshot, state = environment.snapshot(), environment.state()
        walk(environment, after)
        assert environment.restore(snapshot) == snapshot.last
        assert environment.state() == state
        texts.append([observation.text for observation in walk(environment, after)])
    assert texts[0] == texts[1]


def walk(environment: Toy, actions: list[Action]) -> list[Observation]:
    return [environment.act(each) for each in actions if not environment.ended]


def test_a_solution_ends_the_episode_and_nothing_acts_after_it() -> None:
    environment = begun()
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


def test_an_unknown_action_names_the_actions_there_are() -> None:
    with pytest.raises(UnknownAction, match=r"open, put, take"):
        begun().act(Action("fly"))


def test_an_action_before_the_first_reset_is_refused() -> None:
    with pytest.raises(EpisodeEnded, match="call reset"):
        Toy().act(Action("put", ("key",)))


def test_a_limit_takes_the_types_in_turn() -> None:
    chosen = Toy.tasks(Selection(limit=3, seeds=(7, 8)))
    assert [task.id for task in chosen] == ["fetch/7", "fetch_two/7", "fetch/8"]


def test_an_environment_that_answers_differently_is_found_when_it_is_walked_again() -> None:
    class Forgetful(WithoutCopy):
        openings = 0

        @action()
        def open(self, box: str) -> Observation:
            """Open a box."""
            type(self).openings += 1
            return Observation(f"opening {self.openings}")

    environment = Forgetful()
    environment.reset(Toy.tasks(Selection(ids=("fetch/0",)))[0])
    environment.act(Action("open", ("box_1",)))
    with pytest.raises(Diverged, match=r"action 1, open\('box_1'\): expected 'opening 1', got 'opening 2'"):
        environment.restore(environment.snapshot())


def test_a_call_is_bound_as_python_binds_it() -> None:
    spec = Toy.actions["take"]
    assert spec.bind("key", box="box_1") == Action("take", ("key", "box_1"))
    assert str(spec.bind("key", "box_1")) == "take('key', 'box_1')"
    with pytest.raises(TypeError, match="box"):
        spec.bind("key")
