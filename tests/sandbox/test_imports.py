"""Modules as plans use them: preloaded ones, those whose source the host hands out, and what no plan may do to them."""

import subprocess
import sys
import time

import pytest

from planbook.sandbox import PRELOADED, Sandbox, check
from planbook.sandbox.answers import library_source
from planbook.sandbox.policy.rules import MODULES, ON_DEMAND
from tests.sandbox.plans import run_in_sandbox


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_can_be_imported(module: str, sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        result = session.run(f"import {module} as m\nfrom {module} import *\nm.__name__")
    assert (result.fault, result.value) == (None, module)


def test_what_no_other_thread_will_ever_do_is_not_waited_for() -> None:
    wait = "import queue\ntry:\n    queue.Queue().get(timeout=5)\nexcept queue.Empty:\n    print('empty')"
    assert run_in_sandbox(wait).output == "empty\n"
    for source in ("queue.Queue().get()", "queue.SimpleQueue().get()"):
        assert "another thread" in run_in_sandbox(f"import queue\n{source}").message


def test_a_warning_of_the_plan_is_seen() -> None:
    assert "UserWarning: careful" in run_in_sandbox("import warnings\nwarnings.warn('careful')").output


def test_what_has_no_module_of_its_name_is_not_found(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        for name in ("nothing", "a" * 300):
            fault = session.run(f"'x'.encode({name!r})").fault
            assert fault is not None
            assert fault.type == "LookupError"


def test_a_module_shows_its_names_and_not_its_variables(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        assert session.run("import math\n'pi' in dir(math), repr(math)[:14], type(math).__name__").value == [
            True,
            "<module 'math'",
            "module",
        ]
        for source in ("math.__dict__", "vars(math)", "getattr(math, '__di' + 'ct__')"):
            fault = session.run(source).fault
            assert fault is not None
            assert fault.type in ("AttributeError", "TypeError")


def test_a_module_that_one_session_spoils_is_whole_in_the_next(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        assert session.run("import json\njson.JSONDecoder.decode = lambda *a: 1\njson.loads('[2]')").value == 1
    with sandbox.session({}) as session:
        assert session.run("import json\njson.loads('[2]')").value == [2]


def test_the_host_hands_out_sources_of_the_standard_library_alone(sandbox: Sandbox) -> None:
    for name in ("json", "email.mime.text", "zoneinfo:Europe/Berlin"):
        assert library_source(name) is not None
    for name in (
        "pytest",
        "sandbox",
        "numpy",
        "json/../../x",
        "..json",
        "_json",
        "zoneinfo:../../../etc/passwd",
        "",
        "x",
    ):
        assert library_source(name) is None


def test_time_zones_that_do_not_exist_are_looked_up_in_a_moment() -> None:
    library_source("zoneinfo:nowhere")
    began = time.process_time()
    assert not any(library_source(f"zoneinfo:nowhere{number}") for number in range(2_000))
    assert time.process_time() - began < 1


def test_no_module_that_comes_as_source_is_preloaded_and_the_host_imports_none() -> None:
    assert not PRELOADED & ON_DEMAND
    code = "from planbook.sandbox.answers import *\nlibrary_source('turtle')\nprint('turtle' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


def test_numpy_works_where_it_is_offered() -> None:
    before = set(sys.modules)
    plan = (
        "import numpy as np\nfrom numpy.linalg import norm\n"
        "[(np.arange(6).reshape(2, 3) @ np.ones(3)).tolist(), norm([3, 4]).item(), np.fft.fft([1, 1]).real.tolist(),"
        " np.random.default_rng().random(), np.random.rand(), np.sort(np.random.rand(100_000))[0].item()]"
    )
    values = list[object]()
    for _ in range(2):
        with Sandbox(modules=["numpy"]) as own, own.session({}) as session:
            result = session.run(plan)
            assert result.fault is None
            values.append(result.value)
            read = session.run("np.load('/etc/passwd')").fault
            assert read is not None
            assert read.type in ("FileNotFoundError", "PermissionError")
    assert values[0] == values[1]
    assert check(plan, {}, modules=["numpy"], allow_definitions_only=True) == []
    assert "did you mean `zeros`?" in check("import numpy\nnumpy.zeroes(3)", {}, modules=["numpy"])[0].hint
    assert check("import numpy\nnumpy.zeros(3)", {})[0].type == "forbidden-import"
    for part in ("import numpy.nothing", "from numpy.f2py import x", "from numpy.linalg import *\nnorm([1])"):
        assert check(part, {}, modules=["numpy"], allow_definitions_only=True) == []
    assert {"numpy.f2py"} & sys.modules.keys() <= before, "a plan makes the host import nothing but what is listed"
