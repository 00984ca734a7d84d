"""Prompt templates: one file for each question."""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

from jinja2 import BaseLoader, DictLoader, Environment, FileSystemLoader, StrictUndefined, meta

from planbook.planner.models.context import blocks, prompt_block
from planbook.planner.models.types import Message
from planbook.planner.rendered import Rendered, data_of_named

_FENCE = re.compile(r"`{3,}")


class Question(Protocol):
    """A question for a model: a template, or any object with a name and a ``render`` method."""

    @property
    def name(self) -> str:
        """The name under which the question is recorded."""

    def render(self, **variables: object) -> str:
        """Return the text."""


class Prompt:
    """One template. It takes exactly the variables that it uses."""

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment, self.name = environment, name

    @cached_property
    def variables(self) -> frozenset[str]:
        """The variables of the template and of the templates that it includes."""
        return _variables(self._environment, self.name)

    def render(self, **variables: object) -> Rendered:
        """Return the text. Raises TypeError for a missing or an unused variable."""
        if self.variables != set(variables):
            missing, unused = self.variables - set(variables), set(variables) - self.variables
            raise TypeError(f"prompt {self.name}: missing {sorted(missing)}, unused {sorted(unused)}")
        text = self._environment.get_template(self.name).render(variables).strip()
        return Rendered.of(text, data_of_named(variables))

    def system(self, **variables: object) -> Message:
        """Return the text as a system message."""
        return Message(role="system", content=self.render(**variables))


class Prompts:
    """The templates of a folder, by path without ``.j2``; or a few short ones, see ``of``."""

    def __init__(self, folder: Path | None, loader: BaseLoader | None = None) -> None:
        self._folder = folder
        self._environment = Environment(
            loader=loader or FileSystemLoader(folder or ()),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        self._environment.filters |= {"fenced": fenced, "block": prompt_block, "blocks": blocks}
        self._prompts: dict[str, Prompt] = {}

    @classmethod
    def of(cls, **texts: str) -> "Prompts":
        """Return templates from texts by name, for a method in a single file."""
        return cls(None, DictLoader({f"{name}.j2": text for name, text in texts.items()}))

    def __getitem__(self, name: str) -> Prompt:
        """Return the template with that name."""
        if name not in self._prompts:
            self._prompts[name] = Prompt(self._environment, f"{name}.j2")
        return self._prompts[name]

    def files(self, *patterns: str) -> Mapping[str, Path]:
        """Return the template files that match one of the patterns, by path in the folder. No patterns means all."""
        if self._folder is None:
            return {}
        paths = {path for pattern in patterns or ("**/*.j2",) for path in self._folder.glob(pattern)}
        return {path.relative_to(self._folder).as_posix(): path for path in sorted(paths)}


def fence_around(*texts: str) -> str:
    """Return a fence of backticks that is longer than any in the texts."""
    longest = max((len(run) for text in texts for run in _FENCE.findall(text)), default=2)
    return "`" * (longest + 1)


def fenced(text: str, info: str = "") -> str:
    """Return a text in a fence that it cannot close. This is the filter ``fenced`` of templates."""
    fence = fence_around(text)
    return f"{fence}{info}\n{text}\n{fence}"


def _variables(environment: Environment, name: str) -> frozenset[str]:
    assert environment.loader is not None
    tree = environment.parse(environment.loader.get_source(environment, name)[0])
    included = (_variables(environment, inner) for inner in meta.find_referenced_templates(tree) if inner)
    return frozenset(meta.find_undeclared_variables(tree)).union(*included)


PROMPTS: Prompts = Prompts(Path(__file__).parent / "templates")
"""The templates of the planner, by path."""
