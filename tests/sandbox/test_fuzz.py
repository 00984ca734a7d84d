"""Fuzzing of the policy, the protocol and the check of arguments. ``tests/sandbox/fuzz`` defines what must hold.

``PLANBOOK_FUZZ=N`` takes N times as long. ``python -m tests.sandbox.fuzz`` runs for as long as you like.
"""

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, strategies as st

from planbook.sandbox import check
from planbook.sandbox.policy.compiler import MAX_CODE, compile_for_worker, find_problems
from planbook.sandbox.policy.transformer import MAX_PROBLEMS
from tests.sandbox.fuzz import arguments, policy, size, wire
from tests.sandbox.fuzz.__main__ import TARGETS
from tests.sandbox.fuzz.programs import MAKERS, grown, mutated, program, spelt
from tests.sandbox.fuzz.settings import TIMES, examples

ROOT = Path(__file__).resolve().parents[2]
CHOICES = st.binary(min_size=4, max_size=200)


def made_by(maker: Callable[[bytes], str], choices: st.SearchStrategy[bytes] = CHOICES) -> st.SearchStrategy[bytes]:
    first = bytes([MAKERS.index(maker)])
    return choices.map(lambda data: first + data)


ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=300)
TEXTS = ANY_TEXT.map(lambda text: text.encode("utf-8", "surrogatepass"))


@examples(390)
@given(made_by(grown) | made_by(mutated) | made_by(spelt, TEXTS))
def test_generated_programs_attacks_and_texts_get_past_no_layer(data: bytes) -> None:
    policy.test_one(data)


@examples(500)
@given(CHOICES)
def test_arguments_are_checked_like_in_plain_python(data: bytes) -> None:
    arguments.test_one(data)


@examples(250)
@given(CHOICES)
def test_messages_of_a_worker_raise_only_declared_exceptions(data: bytes) -> None:
    wire.test_one(data)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(2, 12 * TIMES))])
def test_long_texts_are_read_quickly(seed: int) -> None:
    size.test_one(Random(seed).randbytes(200))


MANY = {
    "imports": "import " + ",".join(f"jso{n}" for n in range(12_000)),
    "members": "from math import " + ",".join(["sqr"] * 24_000),
    "attributes": "x.__a__\n" * 4_900,
    "names": "\n".join(f"{'a' * 16}{n} = 1\n{'a' * 18}{n}x" for n in range(2_000)),
    "comprehensions": "[y for y in x if z]\n" * 2_000,
    "deletions": "x = 1\n" + "del x\nx\n" * 2_000,
    "statements on a line": "x = 1;" * 20_000,
    "calls in calls": "f(" * 90 + ")" * 90,
    "blocks in blocks": "\n".join("    " * n + "if 1:" for n in range(99)) + "\n" + "    " * 99 + "x()",
    "arguments": "print(" + "a, " * 30_000 + ")",
    "different arguments": "print(" + ", ".join(f"name{n}" for n in range(9_000)) + ")",
}


@pytest.mark.parametrize("source", MANY.values(), ids=MANY)
def test_thousands_of_faults_are_found_quickly(source: str) -> None:
    """The host checks plans in its own process, so a slow check would stall it."""
    started = time.process_time()
    assert check(source, {})
    assert len(find_problems(source)) <= MAX_PROBLEMS + 1
    assert time.process_time() - started < 3


def test_code_that_is_large_once_compiled_is_refused() -> None:
    plan = "\n".join(f"x = '{chr(0x1F600 + n % 70)}{chr(0x1F600 + n // 70)}' * 2000" for n in range(200))
    assert [fault.type for fault in find_problems(plan)] == ["too-large"]
    assert [fault.type for fault in compile_for_worker(plan, "plan", True).faults] == ["too-large"]
    assert 0 < len(compile_for_worker("x = '\U0001f600' * 2000", "plan", True).code) < MAX_CODE


def test_many_generated_programs_pass_the_policy_and_many_do_not() -> None:
    for maker in (grown, mutated):
        sources = [program(bytes([MAKERS.index(maker), n % 256, n // 256, n * 7 % 256] * 8)) for n in range(300)]
        passed = sum(find_problems(source) == [] for source in sources)
        assert 30 < passed < 295, maker


@pytest.mark.skipif(not importlib.util.find_spec("atheris"), reason="needs atheris (dev extra)")
@pytest.mark.deep
@pytest.mark.parametrize("target", TARGETS)
def test_fuzzing_by_coverage_finds_nothing(target: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.sandbox.fuzz", target, str(2 * TIMES), str(tmp_path)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    assert ran.returncode == 0, ran.stderr[-3_000:]
    assert " cov: " in ran.stderr
    assert not list(tmp_path.glob("crash-*"))
