"""Prompt templates.

Each question to a model has its own template file. With the filter ``block``, a template marks blocks of the prompt:
those that may be left out of a long conversation, and those that must not be cut.
"""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Protocol

from jinja2 import BaseLoader, DictLoader, Environment, FileSystemLoader, StrictUndefined, meta

from planbook.planner.models.types import Message
from planbook.planner.shortening import prompt_block, section_blocks
from planbook.planner.types import RenderedText, unnamed_data

_FENCE = re.compile(r"`{3,}")


class Question(Protocol):
    """A question to a model: a ``Prompt``, or any other object with a name and a ``render`` method."""

    @property
    def name(self) -> str:
        """The name that the journal records for the question."""

    def render(self, **variables: object) -> str:
        """Return the text of the question."""


class Prompt:
    """A prompt template. Rendering it requires exactly the variables that the template uses."""

    def __init__(self, environment: Environment, name: str) -> None:
        self._environment, self.name = environment, name

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names of the variables that are used in the template or in a template that it includes."""
        return _variables(self._environment, self.name)

    def render(self, **variables: object) -> RenderedText:
        """Return the rendered text. Raises TypeError if a variable is missing, or if a given variable is not used."""
        if self.variables != set(variables):
            mismatches = {"missing": self.variables - set(variables), "unused": set(variables) - self.variables}
            faults = "; ".join(f"{kind}: {', '.join(sorted(names))}" for kind, names in mismatches.items() if names)
            raise TypeError(f"the variables of prompt {self.name.removesuffix('.j2')} are wrong ({faults})")
        text = self._environment.get_template(self.name).render(variables).strip()
        return RenderedText.of(text, unnamed_data(variables))

    def system(self, **variables: object) -> Message:
        """Return the rendered text as a system message."""
        return Message(role="system", content=self.render(**variables))


class Prompts:
    """The templates in a folder. ``prompts["planner/first"]`` is the template ``planner/first.j2``."""

    def __init__(self, folder: Path | None, loader: BaseLoader | None = None) -> None:
        self._folder = folder
        self._environment = Environment(
            loader=loader or FileSystemLoader(folder or ()),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,
        )
        self._environment.filters |= {"fenced": fenced, "json": _json, "block": prompt_block, "blocks": section_blocks}
        self._prompts: dict[str, Prompt] = {}

    @classmethod
    def of(cls, **texts: str) -> "Prompts":
        """Return templates with these names and texts, for a planning method that keeps them in its own Python file."""
        return cls(None, DictLoader({f"{name}.j2": text for name, text in texts.items()}))

    def __getitem__(self, name: str) -> Prompt:
        """Return the template with that name."""
        if name not in self._prompts:
            self._prompts[name] = Prompt(self._environment, f"{name}.j2")
        return self._prompts[name]

    def files(self, *patterns: str) -> Mapping[str, Path]:
        """Return a dict that maps paths relative to the template folder to files.

        It holds the files that match one of the patterns, or all templates if no pattern is given.
        """
        if self._folder is None:
            return {}
        paths = {path for pattern in patterns or ("**/*.j2",) for path in self._folder.glob(pattern)}
        return {path.relative_to(self._folder).as_posix(): path for path in sorted(paths)}


def fence_around(*texts: str) -> str:
    """Return a fence of backticks for a code block. It is longer than any fence in the texts."""
    longest = max((len(run) for text in texts for run in _FENCE.findall(text)), default=2)
    return "`" * (longest + 1)


def fenced(text: str, info: str = "") -> str:
    """Return a text in a code block. Its fence is longer than any in the text, so the text cannot close the block.

    In templates, this is the filter ``fenced``. ``info`` is the language of the block.
    """
    fence = fence_around(text)
    return f"{fence}{info}\n{text}\n{fence}"


def _json(value: object) -> str:
    """Return a value as JSON. Jinja's own filter escapes quotes, and models would copy the escapes."""
    return json.dumps(value, ensure_ascii=False)


def _variables(environment: Environment, name: str) -> frozenset[str]:
    assert environment.loader is not None
    tree = environment.parse(environment.loader.get_source(environment, name)[0])
    included = (_variables(environment, inner) for inner in meta.find_referenced_templates(tree) if inner)
    return frozenset(meta.find_undeclared_variables(tree)).union(*included)


PROMPTS: Prompts = Prompts(Path(__file__).parent / "templates")
"""The planner's own templates."""
