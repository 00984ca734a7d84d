"""Imports in plans: of preloaded modules, and of modules whose source the host sends. Plans cannot damage them."""

import subprocess
import sys
import time

import pytest

from planbook.sandbox import PRELOADED, Sandbox, Session, WorkerFailed, check
from planbook.sandbox.answers import library_source
from planbook.sandbox.policy.rules import MODULES, ON_DEMAND
from tests.sandbox.plans import fault_of, run_in_sandbox


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_can_be_imported(module: str, session: Session) -> None:
    result = session.run(f"import {module} as m\nfrom {module} import *\nm.__name__")
    assert (result.fault, result.value) == (None, module)


def test_waiting_for_another_thread_ends_immediately() -> None:
    wait = "import queue\ntry:\n    queue.Queue().get(timeout=5)\nexcept queue.Empty:\n    print('empty')"
    assert run_in_sandbox(wait).output == "empty\n"
    for source in ("queue.Queue().get()", "queue.SimpleQueue().get()"):
        assert "another thread" in run_in_sandbox(f"import queue\n{source}").message


def test_a_warning_is_printed() -> None:
    assert "UserWarning: careful" in run_in_sandbox("import warnings\nwarnings.warn('careful')").output
    old = run_in_sandbox("import warnings\ndef f():\n    warnings.warn('old', DeprecationWarning, 2)\nf()")
    assert ":4: DeprecationWarning: old" in old.output
    assert run_in_sandbox("import warnings\nwarnings.warn('new', PendingDeprecationWarning)").output == ""


def test_a_module_shows_its_names_but_not_its_namespace(session: Session) -> None:
    shown = session.run("import math\n'pi' in dir(math), repr(math)[:14], type(math).__name__").value
    assert shown == [True, "<module 'math'", "module"]
    assert session.run("import warnings\n'warn' in dir(warnings), hasattr(warnings, '__dict__')").value == [True, False]


NAMESPACES = {
    "attribute": "import calendar as module\nmodule.__dict__",
    "attribute of an unknown module": "[module][0].__dict__",
    "vars": "vars(module)",
    "getattr": "getattr(module, '__di' + 'ct__')",
    "getattr by map": "list(map(getattr, [module], ['__dict__']))",
    "attrgetter": "operator.attrgetter('__dict__')(module)",
    "attrgetter of a part": "operator.attrgetter('module.__dict__')(types.SimpleNamespace(module=module))",
    "methodcaller": "operator.methodcaller('__getattribute__', '__dict__')(module)",
    "object": "object.__getattribute__(module, '__dict__')",
    "class": "type(module).__getattribute__(module, '__dict__')",
    "format": "'{0.__dict__}'.format(module)",
    "nested format": "'{0:{1.__dict__}}'.format(1, module)",
    "format by a name": "getattr('{0.__dict__}', 'format')(module)",
    "format by map": "list(map('{0.__dict__}'.format, [module]))",
    "format_map": "'{x.__dict__}'.format_map({'x': module})",
    "formatter": "string.Formatter().format('{0.__dict__}', module)",
    "f-string": "f'{module.__dict__}'",
    "pattern": "match module:\n    case object(__dict__=x): pass\n    case _: raise AttributeError",
    "wraps": "f = functools.wraps(module, ())(lambda: 1)\nif len(vars(f)) == 1: raise AttributeError",
}


@pytest.mark.parametrize("module", ["calendar", "warnings", "html.parser", "numpy"])
def test_no_way_leads_to_the_namespace_of_a_module(module: str) -> None:
    imports = f"import functools, operator, string, types, {module}\nmodule = [{module}][0]\n"
    with Sandbox(modules=["numpy"]) as own, own.session({}) as session:
        for way, source in NAMESPACES.items():
            assert fault_of(session, imports + source).type in ("AttributeError", "TypeError", "forbidden-import"), way


def test_a_module_that_a_session_changes_is_unchanged_in_the_next(sandbox: Sandbox) -> None:
    with sandbox.session({}) as session:
        assert session.run("import json\njson.JSONDecoder.decode = lambda *a: 1\njson.loads('[2]')").value == 1
    with sandbox.session({}) as session:
        assert session.run("import json\njson.loads('[2]')").value == [2]


SENT = ("json", "email.mime.text", "zoneinfo:Europe/Berlin")
NOT_SENT = ("pytest", "sandbox", "numpy", "json/../../x", "..json", "_json", "zoneinfo:../../../etc/passwd", "", "x")


def test_the_host_sends_sources_of_the_standard_library_only() -> None:
    assert all(library_source(name) is not None for name in SENT)
    assert [name for name in NOT_SENT if library_source(name) is not None] == []


def test_unknown_time_zones_are_looked_up_quickly() -> None:
    library_source("zoneinfo:nowhere")
    started = time.process_time()
    assert not any(library_source(f"zoneinfo:nowhere{number}") for number in range(2_000))
    assert time.process_time() - started < 1


def test_modules_sent_as_source_are_not_preloaded_and_the_host_does_not_import_them() -> None:
    assert not PRELOADED & ON_DEMAND
    code = "from planbook.sandbox.answers import *\nlibrary_source('turtle')\nprint('turtle' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


NUMPY = (
    "import numpy as np\nfrom numpy.linalg import norm\n"
    "[(np.arange(6).reshape(2, 3) @ np.ones(3)).tolist(), norm([3, 4]).item(), np.fft.fft([1, 1]).real.tolist(),"
    " np.random.default_rng().random(), np.random.rand(), np.sort(np.random.rand(100_000))[0].item()]"
)


def test_a_module_for_plans_that_is_not_installed_is_named() -> None:
    with pytest.raises(WorkerFailed, match=r"^these modules for plans are not installed: nowhere, no\.where$"):
        Sandbox(modules=["json", "nowhere", "no.where"])


def test_numpy_works_where_it_is_offered() -> None:
    before = set(sys.modules)
    values = list[object]()
    for _ in range(2):
        with Sandbox(modules=["numpy"]) as own, own.session({}) as session:
            result = session.run(NUMPY)
            assert result.fault is None
            values.append(result.value)
            assert fault_of(session, "np.load('/etc/passwd')").type in ("FileNotFoundError", "PermissionError")
    assert values[0] == values[1]
    with Sandbox(modules=["numpy"]) as own:
        drawn = list[object]()
        for seed in (1, 1, 2):
            with own.session({}, seed=seed) as session:
                drawn.append(session.run("import numpy\nnumpy.random.random()").value)
    assert drawn[0] == drawn[1] != drawn[2]
    for code in (NUMPY, "import numpy.nothing", "from numpy.f2py import x", "from numpy.linalg import *\nnorm([1])"):
        assert check(code, {}, modules=["numpy"], allow_definitions_only=True) == []
    assert "did you mean `zeros`?" in check("import numpy\nnumpy.zeroes(3)", {}, modules=["numpy"])[0].hint
    assert check("import numpy\nnumpy.zeros(3)", {})[0].type == "forbidden-import"
    assert {"numpy.f2py"} & sys.modules.keys() <= before, "a check imports only the modules that are offered"
