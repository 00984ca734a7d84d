"""Plans see the same time, random numbers and addresses in every worker, on any machine.

A zygote is the process that a sandbox's workers are forked from, so every test compares two of them.
"""

import ctypes
import json
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from planbook.sandbox import Limits, Sandbox, Session
from planbook.sandbox.policy.rules import MODULES
from planbook.sandbox.process import FIXED_ADDRESSES, READ_PERSONALITY
from planbook.sandbox.worker.determinism import NODE

CLOCKS = """time.time() time.time_ns() time.monotonic() time.monotonic_ns() time.perf_counter() time.perf_counter_ns()
time.process_time() time.process_time_ns() time.thread_time() time.thread_time_ns() time.clock_gettime(0)
time.clock_gettime_ns(1) tuple(time.gmtime()) tuple(time.localtime()) time.ctime() time.asctime() time.strftime('%c')
str(datetime.datetime.now()) str(datetime.datetime.now(datetime.UTC)) str(datetime.datetime.utcnow())
str(datetime.datetime.today()) str(datetime.date.today()) str(datetime.datetime.fromtimestamp(time.time()))
str(Moment.now()) str(Day.today()) str(datetime.datetime.now(zoneinfo.ZoneInfo('Asia/Tokyo')))
operator.methodcaller('now')(datetime.datetime).isoformat() getattr(datetime.datetime,'now')().isoformat()
logging.makeLogRecord({}).created logging.LogRecord('n',20,'p',1,'m',(),None).created uuid.uuid1().time
calendar.timegm(time.gmtime())""".split()
RANDOM = """random.random() random.getrandbits(64) random.Random().random() random.Random(None).random()
random.SystemRandom().random() random.Random.__new__(random.Random).random() random.randbytes(8).hex()
type(random.Random(1))().random() copy.copy(random.Random()).random() uuid.uuid4().hex uuid.uuid1().hex uuid.getnode()
secrets.token_hex() secrets.randbelow(10**9) secrets.choice(range(10**6)) hash('text') hash(b'bytes')
list({'a','b','c'}) hash(1.5) hash(datetime.date(2024,1,1)) list(set(map(str,range(20))))""".split()
PROCESS = """logging.makeLogRecord({'x':1}).process logging.LogRecord('n',20,'p',1,'m',(),None).process
logging.LogRecord('n',20,'p',1,'m',(),None).thread logging.LogRecord('n',20,'p',1,'m',(),None).threadName
sys.getsizeof([]) sys.getrecursionlimit() time.tzname time.timezone""".split()
ADDRESSES = """id(A) id(A()) id('text') hash(A()) hash(A) hash(len) object.__hash__(A()) str(A()) repr(lambda:0)
[type(each).__name__.__len__()for(each)in{A(),B(),A,B,len,print}] id(math) id(agent) hash(agent.act)""".split()
PRELUDE = """
import calendar, copy, datetime, logging, math, operator, random, secrets, sys, time, uuid, zoneinfo
class A: pass
class B(A): pass
class Moment(datetime.datetime): pass
class Day(datetime.date): pass
"""
SWEEP = """
found = {}
import MODULE as module
for name in sorted(dir(module)):
    if not name.startswith("_") and name not in ("sleep", "setrecursionlimit", "input", "lock"):
        try:
            found[name] = repr(getattr(module, name)())[:300]
        except Exception as error:
            found[name] = repr(error)[:300]
found
"""
"""Calls everything in a module that needs no argument."""
YEAR_2001 = 978_307_200


@pytest.fixture(scope="module")
def zygotes() -> Iterator[tuple[Sandbox, Sandbox]]:
    Sandbox().close()  # after a change, the first zygote compiles its modules, which changes its addresses
    with Sandbox() as one, ExitStack() as stack:
        for _ in range(100):  # so that the second zygote gets larger descriptors
            stack.enter_context(open(os.devnull))
        time.sleep(0.3)
        with Sandbox() as other:
            yield one, other


def check_same(zygotes: tuple[Sandbox, Sandbox], *cells: str) -> None:
    """Check that the last cell has the same result in two sessions of the first zygote and in one of the second."""
    found = list[tuple[object, str]]()
    for sandbox in (zygotes[0], *zygotes):
        with sandbox.session({"agent.act": lambda: 1}, limits=Limits(wall_seconds=20)) as session:
            result = [session.run(cell) for cell in cells][-1]
            assert result.fault is None
            found.append((result.value, result.output))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("expression", [*CLOCKS, *RANDOM, *PROCESS])
def test_time_and_random_numbers_are_the_same_in_every_zygote(
    zygotes: tuple[Sandbox, Sandbox], expression: str
) -> None:
    check_same(zygotes, PRELUDE, f"({expression}, {expression})")


@pytest.mark.parametrize("expression", ADDRESSES)
def test_addresses_are_the_same_in_every_zygote(zygotes: tuple[Sandbox, Sandbox], expression: str) -> None:
    personality = ctypes.CDLL(None).personality
    before = personality(READ_PERSONALITY)
    if personality(before | FIXED_ADDRESSES) < 0:
        pytest.skip("the kernel grants no fixed addresses here")
    personality(before)
    check_same(zygotes, PRELUDE, expression)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_function_of_a_module_returns_the_same(zygotes: tuple[Sandbox, Sandbox], module: str) -> None:
    check_same(zygotes, SWEEP.replace("MODULE", module))


STACKS = """
import io, logging, traceback
out = io.StringIO()
logging.getLogger("x").addHandler(logging.StreamHandler(out))
def inner():
    traceback.print_stack(file=out)
    logging.getLogger("x").warning("logged", stack_info=True)
    return [frame.name for frame in traceback.extract_stack()], len(traceback.format_stack()), out.getvalue()
inner()
"""


def test_a_stack_shows_only_the_plan(session: Session) -> None:
    value = session.run(STACKS).value
    assert isinstance(value, list)
    assert value[:2] == [["<module>", "inner"], 2]
    assert [line for line in str(value[2]).splitlines() if "File" in line and "cell#0" not in line] == []
    assert "inner()" in str(value[2])


def test_no_clock_shows_the_time_of_the_machine(session: Session) -> None:
    session.run(PRELUDE)
    shown = json.dumps([session.run(expression).value for expression in CLOCKS])
    seconds = session.run("time.time()").value
    assert session.run("[uuid.getnode(), logging.makeLogRecord({}).process]").value == [NODE, 1]
    assert session.run("logging.LogRecord('n', 20, 'p', 1, 'm', (), None).thread").value == 1
    assert str(time.gmtime().tm_year) not in shown
    assert isinstance(seconds, float)
    assert seconds < YEAR_2001
