"""What can be checked at the end of a task on web pages."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from planbook.envs.web.texts import NUMBER


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AnswerCheck(_Part):
    """The answer given with ``stop``; capitals, quotation marks around it and spaces do not count.

    - ``exact``: it is one of the values.
    - ``must_include``: every value is in it (a value may hold alternatives, ``a |OR| b``).
    - ``numbers``: the numbers in it are exactly the values, in any order, whatever words stand around them.
    - ``items``: separated at commas, semicolons and line ends, it is exactly the values, in any order.
    - ``fuzzy``: an approximation of WebArena's judging model, see ``planbook.envs.web.judging``.
    """

    kind: Literal["answer"] = "answer"
    how: Literal["exact", "must_include", "numbers", "items", "fuzzy"]
    values: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _numbers_are_numbers(self) -> "AnswerCheck":
        if self.how == "numbers" and not all(NUMBER.fullmatch(value) for value in self.values):
            raise ValueError(f"values must be numbers, not {', '.join(self.values)}")
        return self


class UrlCheck(_Part):
    """The address at the end. Equal pages count as equal.

    - ``equal``: the same page with the same query.
    - ``including``: the same page, and the query has at least these values.
    - ``within``: WebArena's "GOLD in PRED": host and path occur in those reached, and each name of the query has one
      of the values that the alternatives give it.
    """

    kind: Literal["url"] = "url"
    how: Literal["equal", "including", "within"] = "equal"
    any_of: tuple[str, ...] = Field(min_length=1)


class PageCheck(_Part):
    """Texts that must be, or must not be, on the page at ``url`` ("last": where the episode ended).

    ``selector`` (CSS) or ``script`` (a JavaScript expression, as WebArena's files have them) picks a part of the page;
    with neither it is the whole page's text. ``exact``: the text is one of these. A value may hold alternatives,
    ``a |OR| b``.
    """

    kind: Literal["page"] = "page"
    url: str = "last"
    selector: str = ""
    script: str = ""
    exact: tuple[str, ...] = ()
    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _asks_for_something(self) -> "PageCheck":
        if not (self.exact or self.must_include or self.must_exclude):
            raise ValueError("a page check needs exact, must_include or must_exclude")
        return self


class Text(_Part):
    """A text that is not given word for word."""

    must_include: tuple[str, ...] = ()
    must_exclude: tuple[str, ...] = ()


class ServerCheck(_Part):
    """What our site must store differently at the end: exactly this, nothing more and nothing less.

    ``changes`` maps a place (``ticket/12/status``, ``wiki/Roadmap``) to its value; None: it is no longer there.
    """

    kind: Literal["server"] = "server"
    changes: dict[str, str | Text | None] = Field(min_length=1)


class UnachievableCheck(_Part):
    """The answer says that the task cannot be done: it begins with ``N/A``."""

    kind: Literal["unachievable"] = "unachievable"


Check = AnswerCheck | UrlCheck | PageCheck | ServerCheck | UnachievableCheck
