"""Methods with one mistake each."""

from typing import Any

from planbook.planner import Episode, Method, Options


class NotOptions:
    """Not derived from Options."""


def play(episode: Episode) -> None: ...


def fails(episode: Episode, options: Options) -> None:
    """Fails in a function that the method calls."""
    divide(0)


async def waits(episode: Episode, options: Options) -> None: ...


def divide(number: int) -> float:
    return 1 / number


number = 3
one_argument = Method(play, Options, "its function lacks an argument")  # type: ignore[arg-type]
coroutine = Method(waits, Options, "its function is a coroutine")
wrong: Any = NotOptions
wrong_options = Method(fails, wrong, "its options are no Options")
second = Method(fails, Options, "the file has two methods")
