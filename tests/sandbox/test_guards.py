"""The run-time guards, one by one."""

import copy
from functools import partial

import pytest

from sandbox.worker import guards, language
from sandbox.worker.attributes import Attributes
from tests.sandbox.plans import Session, run_guarded


class Place:
    __slots__ = ("__dict__",)

    def __init__(self) -> None:
        self.name = "desk"


def test_attribute_names_must_be_exact_strings() -> None:
    class Lie(str):
        __slots__ = ()

    read = Attributes(Session().clock).getattr
    with pytest.raises(TypeError, match="must be string"):
        read("x", Lie("upper"))
    assert read("x", "upper")() == "X"


def test_what_is_forbidden_raises_despite_a_default_and_says_what_to_do() -> None:
    read = Attributes(Session().clock).getattr
    with pytest.raises(guards.Forbidden, match="keep the undecorated function"):
        read(len, "__wrapped__", None)
    assert read(len, "nothing", 5) == 5


@pytest.mark.parametrize(
    "target",
    [int, Place(), partial(print), copy, len],
    ids=["a class", "an object", "a partial", "a module", "a builtin"],
)
def test_write_refuses_what_is_not_the_plans(target: object) -> None:
    guards_raise = (AttributeError, TypeError)
    with pytest.raises(guards_raise):
        guards.guarded_setattr(target, "x", 1)


def test_write_allows_what_is_the_plans_own() -> None:
    ran = run_guarded(
        "class A: pass\nclass E(Exception): pass\ndef f(): pass\n"
        "for x in (A, A(), E(), f): setattr(x, 'n', 1); x.n += 1\n"
        "err = ValueError()\nerr.hint = 'h'\nf.n + A.n"
    )
    assert (ran.error, ran.value) == (None, 4)


def test_a_class_of_a_host_module_called_main_is_not_the_plans_own() -> None:
    spoof = type("Spoof", (), {"__module__": "__main__"})
    with pytest.raises(TypeError, match="not the plan's own"):
        guards.write(spoof)


def test_protect_refuses_classes_whose_insides_a_plan_could_read() -> None:
    class Open:
        __slots__ = ("_link",)

        def __setitem__(self, key: str, value: str) -> None: ...

    with pytest.raises(ValueError, match=r"Open shows plans _link, __setitem__"):
        language.protect(Open)


def test_protected_objects_are_closed() -> None:
    language.protect(Place)
    place = Place()
    with pytest.raises(TypeError, match="can't be copied"):
        copy.deepcopy([place])
    with pytest.raises(TypeError, match="not available"):
        guards.type_of(place)
    with pytest.raises(AttributeError, match="read-only"):
        guards.write(place)
    assert run_guarded("place.name", place=place).value == "desk"


def test_type_of_a_class_is_the_plans_own_type() -> None:
    assert guards.type_of(int) is guards.PlanType
    assert run_guarded("type(int) is type and isinstance(int, type) and not isinstance(3, type)").value is True
    assert run_guarded("str(type)").value == "<class 'type'>"


@pytest.mark.parametrize(
    ("template", "allowed"),
    [("{}", True), ("{0.real}", True), ("{0[a.b]}", True), ("{0.__class__}", False), ("{:{0.__class__}}", False)],
)
def test_templates(template: str, allowed: bool) -> None:
    ran = run_guarded("template.format(x)", template=template, x={"a.b": 1} if "[" in template else 3)
    assert (ran.error is None) == allowed, ran.error


def test_print_takes_what_python_takes() -> None:
    assert run_guarded("print(1, 'a', sep='', end='.')\nprint(sep=None, end=None, flush=True)").output == "1a.\n"
    error = run_guarded("print(1, end=3)").error
    assert str(error) == "end must be None or a string, not int"


def test_state_lives_across_cells() -> None:
    session = Session()
    session.run("n = 1\ndef add(k):\n    global n\n    n += k\nclass A:\n    x = 0")
    session.run("add(4)\nA.x += n")
    assert session.run("n, A.x").value == (5, 5)


def test_sessions_share_nothing() -> None:
    one, two = Session(), Session()
    one.run("import random, re\nclass A: pass\nrandom.seed(1)\nlen = 5")
    assert two.run("len('ab')").value == 2
    assert isinstance(two.run("A").error, NameError)
    assert one.run("random.random()").value != two.run("import random\nrandom.random()").value
