"""Methods with one mistake each."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from planbook.planner import Episode, Method, Options


class NotOptions:
    """Not derived from Options."""


def one_argument(episode: Episode) -> None: ...


async def coroutine(episode: Episode, options: Options) -> None: ...


def generator(episode: Episode, options: Options) -> Iterator[None]:
    yield


async def async_generator(episode: Episode, options: Options) -> AsyncIterator[None]:
    yield


def fails(episode: Episode, options: Options) -> None:
    """Fails in a function that the method calls."""
    divide(0)


def divide(number: int) -> float:
    return 1 / number


number = 3
wrong: Any = NotOptions
wrong_options = Method(fails, wrong, "its options are no Options")
second = Method(fails, Options, "the file has two methods")
