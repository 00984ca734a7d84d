"""Programs that plans plausibly contain do in the sandbox what they do in plain Python.

What can't be the same is listed in ``sandbox/DIFFERENCES.md``.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbook import sandbox
from planbook.sandbox import check as check_plan
from planbook.sandbox.policy.compiler import find_problems
from planbook.sandbox.policy.rules import SYNTAX
from tests.sandbox.plans import run_in_sandbox, run_plain, snippets

PROGRAMS = list(snippets("compatibility"))
RECORDINGS = Path(__file__).parents[2] / "manuals" / "recordings"


def test_same_as_plain_python() -> None:
    different = list[tuple[object, ...]]()
    for program in PROGRAMS:
        source = str(program.values[0])
        if faults := find_problems(source):
            different.append((program.id, faults))
        elif (found := run_in_sandbox(source)) != (wanted := run_plain(source)):
            different.append((program.id, found, wanted))
    assert different == []


TYPE_PARAMETERS = """
type Pair[T] = tuple[T, T]
def first[T: (int, str)](pair: Pair[T]) -> T:
    return pair[0]
class Box[T]:
    def __init__(self, item: T) -> None:
        self.item = item
def every[*Ts, **P](*args: *Ts) -> None: ...
print(first((1, 2)), Box("a").item, Pair.__value__, first.__annotations__, first.__type_params__)
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python has no type parameters before 3.12")
def test_type_parameters_are_the_same_as_in_plain_python() -> None:
    assert find_problems(TYPE_PARAMETERS) == []
    assert check_plan(TYPE_PARAMETERS, {}) == []
    assert run_in_sandbox(TYPE_PARAMETERS) == run_plain(TYPE_PARAMETERS)


def test_there_are_enough_programs_and_few_differences() -> None:
    assert len(PROGRAMS) >= 380
    page = Path(sandbox.__file__).with_name("DIFFERENCES.md").read_text(encoding="utf-8")
    assert sum(line.startswith("| ") for line in page.splitlines()) <= 16


def test_no_plan_that_a_model_wrote_is_refused() -> None:
    """The code blocks of the recorded replies, as far as they are Python."""
    plans = {code for file in sorted(RECORDINGS.glob("*.jsonl")) for code in _code_blocks(file)}
    assert len(plans) > 200
    assert [(code, problem) for code in plans for problem in find_problems(code) if problem.name != SYNTAX] == []


def _code_blocks(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        for text in _texts(json.loads(line)):
            yield from re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
