"""Hosts whose kernel grants fewer mechanisms, such as a container without namespaces or seccomp.

A launcher installs a filter of system calls, which the sandbox that it starts inherits. Tests run as root, if they can,
and as an ordinary user.
"""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from planbook.sandbox.worker.lockdown import NOBODY
from tests.command import ROOT

LAUNCHER = """
import json, platform, runpy, sys
from planbook.sandbox.worker import lockdown
column, _ = lockdown.ARCHITECTURES[platform.machine()]
NUMBERS = {"unshare": (272, 97), "landlock_create_ruleset": (444, 444), "capset": (126, 91)}
PRCTL, FIRST = (157, 167)[column], 16
denied = json.loads(sys.argv[1])
steps = [(lockdown.LOAD, 0, 0, lockdown.NUMBER)]
for name, number in denied.items():
    if name != "seccomp":
        steps += [(lockdown.JUMP_EQUAL, 0, 1, NUMBERS[name][column]), (lockdown.RETURN, 0, 0, 0x00050000 | number)]
if "seccomp" in denied:
    steps += [(lockdown.JUMP_EQUAL, 0, 3, PRCTL), (lockdown.LOAD, 0, 0, FIRST), (lockdown.JUMP_EQUAL, 0, 1, 22),
              (lockdown.RETURN, 0, 0, 0x00050000 | denied["seccomp"])]
steps += [(lockdown.RETURN, 0, 0, lockdown.ALLOW)]
instruction = lockdown.FilterInstruction
program = lockdown.FilterProgram(len(steps), (instruction * len(steps))(*(instruction(*s) for s in steps)))
lockdown.LIBC.prctl(38, 1, 0, 0, 0)
lockdown.install_filter(program)
sys.argv = sys.argv[2:]
if sys.argv[0] == "-m":
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    exec(sys.argv[0])
"""
LOOK = """
import json, os
from planbook.sandbox import Limits, MissingMechanism, Sandbox
shown = {"user": os.getuid(), "refusal": ""}
try:
    opened = Sandbox()
except MissingMechanism as error:
    shown["refusal"] = str(error)
    opened = Sandbox(unsafe_no_sandbox=True)
with opened as sandbox, sandbox.session({"f": lambda x: x}, limits=Limits(wall_seconds=0.5)) as s:
    shown["value"] = s.run("f(6) * 7").value
    shown["limit"] = s.run("while True:\\n    pass").fault.type
    shown["missing"] = {m.name: m.reason for m in sandbox.mechanisms().values() if not m.granted}
with Sandbox(language_layer=False, unsafe_no_sandbox=True) as sandbox, sandbox.session({}) as s:
    codes = "open('/etc/passwd')", "import socket\\nsocket.socket()", "import os\\nos.fork()"
    faults = [s.run(code).fault for code in codes]
    shown["plain"] = [fault and fault.type for fault in faults]
print(json.dumps(shown))
"""
SPACES = {f"{kind} namespace" for kind in ("ipc", "mount", "net", "pid", "user")}


@dataclass(frozen=True)
class Host:
    """A simulated host: ``denied`` maps the system calls that its kernel denies to their error numbers."""

    denied: Mapping[str, int]
    missing: frozenset[str] | None
    """Mechanisms that the sandbox must report as missing, or None if they depend on the machine."""
    refused: bool = False
    """Whether the sandbox refuses to start."""


FULL = Host({}, None)
DOCKER = Host({"unshare": errno.EPERM}, frozenset(SPACES))
OLD = Host({"unshare": errno.EPERM, "landlock_create_ruleset": errno.ENOSYS}, frozenset({*SPACES, "landlock"}))
BARE = Host(
    {**OLD.denied, "capset": errno.EPERM, "seccomp": errno.EINVAL},
    frozenset({*SPACES, "landlock", "capabilities", "seccomp"}),
    refused=True,
)
HOSTS = {"this machine": FULL, "Docker's default": DOCKER, "an old kernel": OLD, "nothing but limits": BARE}
READ_ALL = "+dac_read_search"
"""The only capability that is kept, because the interpreter may be in a folder that only root can read."""
ORDINARY = f"--reuid={NOBODY} --regid={NOBODY} --clear-groups --inh-caps={READ_ALL} --ambient-caps={READ_ALL}"
USERS = {"as it is": [], "ordinary": ["setpriv", *ORDINARY.split()]}


def launch(user: Sequence[str], host: Host, folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run Python as a user on a simulated host."""
    if user and (os.getuid() != 0 or shutil.which("setpriv") is None):
        pytest.skip("needs root and setpriv (util-linux); without root, all tests already run as an ordinary user")
    python = [*user, sys.executable, "-B", "-c", LAUNCHER, json.dumps(dict(host.denied)), *command]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(python, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_missing_mechanisms_are_named_and_only_seccomp_is_required(host: Host, user: list[str]) -> None:
    done = launch(user, host, ROOT, LOOK)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert shown["user"] == (NOBODY if user else os.getuid())
    assert (shown["value"], shown["limit"]) == (42, "wall")
    assert host.missing is None or set(shown["missing"]) == host.missing
    assert all(shown["missing"].values())
    if host.refused:
        assert shown["refusal"].startswith("seccomp is not granted here: ")
        assert "--unsafe-no-sandbox" in shown["refusal"]
    else:
        assert shown["refusal"] == ""
        assert shown["plain"] == ["PermissionError"] * 3, "seccomp alone confines plain Python"


def test_the_command_line_shows_what_is_missing_and_runs_no_plan_without_seccomp(tmp_path: Path) -> None:
    commands = [("envs", "--env", "toy", "--json"), ("run", "--env", "toy", "--split", "all:1")]
    with ThreadPoolExecutor() as pool:
        listed, played = pool.map(lambda command: launch([], BARE, tmp_path, "-m", "planbook", *command), commands)
    found = {row["name"]: row for row in json.loads(listed.stdout.splitlines()[-1])["sandbox"]}
    missing = {name for name, row in found.items() if not row["granted"]}
    assert frozenset(missing) == BARE.missing
    assert all(found[name]["reason"] for name in missing)
    assert {name for name, row in found.items() if row["required"]} == {"seccomp", "no_new_privs", "rlimits"}
    assert played.returncode == 3, played.stderr
    assert "seccomp is not granted here" in played.stderr


def play_unsafely(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a command of planbook without seccomp. It writes its run to ``folder / "run"``."""
    more = ("--out", str(folder / "run"), "--unsafe-no-sandbox")
    played = launch([], BARE, folder, "-m", "planbook", *map(str, arguments), *more)
    assert played.returncode == 0, played.stderr
    return played


def test_a_run_whose_plans_were_not_confined_says_so(tmp_path: Path) -> None:
    played = play_unsafely(tmp_path, "run", "--env", "toy", "--split", "all:1")
    assert "Plans were allowed to run where the kernel cannot confine them" in " ".join(played.stdout.split())
    assert json.loads((tmp_path / "run" / "run.json").read_text())["unsafe_no_sandbox"] is True
    page = tmp_path / "report.html"
    reported = launch([], BARE, tmp_path, "-m", "planbook", "report", str(tmp_path / "run"), "--out", str(page))
    assert reported.returncode == 0, reported.stderr
    assert "(--unsafe-no-sandbox)" in page.read_text(encoding="utf-8")


def test_judges_that_are_plan_code_run_in_the_sandbox_of_the_run(tmp_path: Path) -> None:
    tools, plan = ROOT / "examples" / "tools", tmp_path / "plan.py"
    plan.write_text("agent.remove(1)\nagent.remove(3)\nagent.answer()\n")
    env = ("--env", f"module:{tools}/notes.py:Notes", "-o", f"tasks={tools}/notes.yaml", "--task", "tidy/1")
    played = play_unsafely(tmp_path, "exec", plan, *env, "--json")
    assert json.loads(played.stdout.splitlines()[-1])["solved"] == 1
