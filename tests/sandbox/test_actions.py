"""Actions are values like any other: a plan may map them, store them, wrap them and find them by name."""

from collections.abc import Callable, Iterator

import pytest

from planbook.sandbox import Sandbox, Session
from tests.sandbox.plans import snippets

PLANS = [each for each in snippets("actions") if not str(each.id).startswith("refused")]
REFUSED = [each for each in snippets("actions") if str(each.id).startswith("refused")]


def go_to(place: str, fast: bool = False) -> str:
    return f"at {place}{'!' if fast else ''}"


def take(thing: str, place: str) -> str:
    if thing == "safe":
        raise ValueError("too heavy")
    return f"{thing} from {place}"


def finish() -> str:
    return "over"


@pytest.fixture
def session(sandbox: Sandbox) -> Iterator[Session]:
    functions: dict[str, Callable[..., object]] = {"agent.go_to": go_to, "agent.take": take, "finish": finish}
    with sandbox.session(functions) as opened:
        yield opened


@pytest.mark.parametrize("source", PLANS)
def test_actions_are_values(session: Session, source: str) -> None:
    assert session.run(source).fault is None


@pytest.mark.parametrize("source", REFUSED)
def test_what_an_action_is_not(session: Session, source: str) -> None:
    plan, _, message = source.strip().rpartition("\n# ")
    fault = session.run(plan).fault
    assert fault is not None
    assert message in fault.message
