"""Functions that tests offer to plans: actions in a household, on a web page and in a small world."""

from collections.abc import Callable
from typing import Any, Literal

from pydantic import JsonValue

from planbook.sandbox import Sandbox, Session


def echo(*args: JsonValue, **kwargs: JsonValue) -> JsonValue:
    """Return all arguments as one value."""
    return [*args, kwargs]


def use_place(receptacle: str) -> str:
    return receptacle


def use_thing(object: str, receptacle: str) -> str:
    return object + receptacle


def get_object_with_id(observation: str, object_name: str) -> list[str]:
    return [observation, object_name]


def click_xpath(xpath: str) -> str:
    return xpath


def press_key(key: Literal["enter", "tab"], held: Literal["shift"] | None = None) -> str:
    return f"{key}{held}"


def scroll(pixels: int, speed: float = 1.0, *, smooth: bool = False) -> str:
    return f"{pixels}{speed}{smooth}"


def drag(start: tuple[int, int], end: tuple[int, int] | None = None) -> str:
    return f"{start}{end}"


def select(options: list[str], *more: str, **settings: str) -> str:
    return f"{options}{more}{settings}"


def no_arguments() -> str:
    return ""


def write_rule(rule: str, type: str = "", example: str = "", validation_record: str = "") -> str:
    return rule + type + example + validation_record


def achieve(task: str) -> bool:
    return bool(task)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"agent.{name}": use_place for name in ("go_to", "open", "close", "use", "examine")},
    **{f"agent.{name}": use_thing for name in ("take_from", "put_in_or_on", "clean_with", "heat_with", "cool_with")},
    "agent.look": no_arguments,
    "agent.inventory": no_arguments,
    "agent.click_xpath": click_xpath,
    "agent.type": use_place,
    "agent.press_key": press_key,
    "agent.scroll": scroll,
    "agent.drag": drag,
    "agent.select": select,
    "agent.find": click_xpath,
    "get_object_with_id": get_object_with_id,
    "achieve": achieve,
    "finish": no_arguments,
    "rule_system.write_rule": write_rule,
}
ATTRIBUTES = ("agent.location", "agent.holding")
NAMES = ("task", "seen_before")


class World:
    """A world that consists of one number. It records the calls that change it."""

    def __init__(self) -> None:
        self.number = 0
        self.calls: list[int] = []

    def add(self, n: int = 1) -> int:
        self.calls.append(n)
        if n > 1_000:
            raise ValueError("too much")
        self.number += n
        return self.number

    def tell(self, word: str) -> str:
        return f"{word} {self.number}"

    def functions(self) -> dict[str, Callable[..., Any]]:
        return {"world.add": self.add, "world.tell": self.tell}

    def attributes(self) -> dict[str, JsonValue]:
        return {"world.number": self.number}

    def session(self, sandbox: Sandbox, **settings: Any) -> Session:
        return sandbox.session(self.functions(), attributes=self.attributes, **settings)
