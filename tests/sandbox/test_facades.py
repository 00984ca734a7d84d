"""Modules as plans see them: listed names only, the session's clock and random numbers, and nothing loaded late."""

import builtins
import importlib
import subprocess
import sys
import textwrap
from random import Random

import pytest

from sandbox.policy.tables import MODULES
from sandbox.worker import facades, language
from tests.sandbox.plans import Session, StillClock, run_guarded


@pytest.mark.parametrize("module", MODULES)
def test_a_facade_has_exactly_the_listed_names(module: str) -> None:
    found = run_guarded(f"import {module} as m\nm").value
    assert isinstance(found, facades.Facade)
    assert {name for name in vars(found) if not name.startswith("__")} == MODULES[module]


@pytest.mark.parametrize("module", sorted(MODULES))
def test_the_names_exist_in_the_real_module(module: str) -> None:
    real = importlib.import_module(module)
    assert [name for name in MODULES[module] if not hasattr(real, name)] == []


def test_a_facade_is_frozen_even_without_the_guards() -> None:
    with pytest.raises(AttributeError, match="read-only"):
        facades.FIXED["math"].pi = 3
    with pytest.raises(AttributeError, match="read-only"):
        del facades.FIXED["math"].pi


def test_the_importer_gives_no_real_module() -> None:
    load = Session().names["__builtins__"]["__import__"]
    for name, members in [("os", ()), ("json", ("decoder",)), ("json.decoder", ()), ("sys", ("path",))]:
        with pytest.raises(ImportError):
            load(name, None, None, members)
    with pytest.raises(ImportError):
        load("json", None, None, (), 1)
    assert load("_strptime") is None


def test_time_is_the_sessions_clock() -> None:
    session = Session()
    ran = session.run(
        "import time, datetime\nstart = time.time()\ntime.sleep(3600)\n"
        "(time.time() - start, datetime.datetime.now().isoformat(), str(datetime.date.today()), time.strftime('%H:%M'),"
        " datetime.datetime.now(datetime.UTC).hour, datetime.datetime.utcnow().minute, time.localtime().tm_year,"
        " time.ctime(), time.mktime(time.gmtime(5)), time.time_ns(), datetime.datetime.today().year)"
    )
    assert ran.error is None
    assert ran.value == (
        3600.0, "2023-11-14T23:13:20", "2023-11-14", "23:13", 23, 13, 2023,
        "Tue Nov 14 23:13:20 2023", 5.0, 1_700_003_600_000_000_000, 2023,
    )  # fmt: skip


def test_own_subclasses_of_datetime_read_the_clock_too() -> None:
    ran = run_guarded("from datetime import date\nclass Day(date): pass\nd = Day.today()\ntype(d) is Day, d.year")
    assert ran.value == (True, 2023)


def test_random_is_the_sessions() -> None:
    def numbers() -> object:
        return Session().run("import random\nr = random.Random()\nrandom.seed()\n[random.random(), r.random()]").value

    assert numbers() == numbers()
    expected = Random(5).random()
    assert Session().run("import random\nrandom.random()").value == expected


def test_the_unguarded_namespace_keeps_print_random_and_time() -> None:
    written: list[str] = []
    names = language.unguarded_namespace(Random(5), StillClock(), written.append)
    source = "import random, time, os\nprint(random.random(), time.time(), os.sep, type('A', (), {}).__name__)\nopen"
    cell = language.compile_plain(source, "plan")
    exec(cell.code, names)
    assert cell.tail is not None
    assert eval(cell.tail, names) is builtins.open
    assert written == [f"{Random(5).random()} 1700000000.0 / A\n"]


def test_nothing_is_imported_after_preload() -> None:
    """A locked worker can't open a file: run every compatibility program in a process where opening one fails."""
    program = textwrap.dedent("""
        import builtins, sys
        from random import Random
        from tests.sandbox.plans import run_guarded, snippets
        programs = [p.values[0] for p in snippets("compatibility")]
        before = set(sys.modules)
        def audit(event, args):
            if event in ("open", "os.listdir", "import") and (event != "import" or args[0] not in sys.modules):
                raise PermissionError(f"{event} {args[:1]}")
        sys.addaudithook(audit)
        errors = [(source, run_guarded(source).error) for source in programs]
        failed = [(source, error) for source, error in errors if isinstance(error, PermissionError)]
        late = set(sys.modules) - before
        print(failed, late)
    """)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.stdout.strip() == "[] set()", ran.stderr
