"""Hosts that grant less: a container without namespaces and Landlock, one without seccomp; as root and as a user.

A small launcher takes the system calls away from a process of its own, by a filter that the sandbox under it inherits.
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

from planbook import sandbox as package

ROOT = Path(package.__file__).resolve().parents[1]
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
told = {"user": os.getuid(), "refusal": ""}
try:
    opened = Sandbox()
except MissingMechanism as error:
    told["refusal"] = str(error)
    opened = Sandbox(unsafe_no_sandbox=True)
with opened as sandbox, sandbox.session({"f": lambda x: x}, limits=Limits(wall_seconds=0.5)) as s:
    told["value"] = s.run("f(6) * 7").value
    told["limit"] = s.run("while True:\\n    pass").fault.type
    told["missing"] = {m.name: m.reason for m in sandbox.mechanisms().values() if not m.granted}
with Sandbox(language_layer=False, unsafe_no_sandbox=True) as sandbox, sandbox.session({}) as s:
    codes = "open('/etc/passwd')", "import socket\\nsocket.socket()", "import os\\nos.fork()"
    tried = [s.run(code).fault for code in codes]
    told["plain"] = [fault and fault.type for fault in tried]
print(json.dumps(told))
"""
SPACES = {f"{kind} namespace" for kind in ("ipc", "mount", "net", "pid", "user")}


@dataclass(frozen=True)
class Host:
    """System calls that a host's kernel denies, with their errors, and what the sandbox must then report."""

    denied: Mapping[str, int]
    missing: frozenset[str]
    refused: bool = False


DOCKER = Host({"unshare": errno.EPERM}, frozenset(SPACES))
OLD = Host({"unshare": errno.EPERM, "landlock_create_ruleset": errno.ENOSYS}, frozenset({*SPACES, "landlock"}))
BARE = Host(
    {**OLD.denied, "capset": errno.EPERM, "seccomp": errno.EINVAL},
    frozenset({*SPACES, "landlock", "capabilities", "seccomp"}),
    refused=True,
)
HOSTS = {"Docker's default": DOCKER, "an old kernel": OLD, "nothing but limits": BARE}
READ_ALL = "+dac_read_search"
"""The one right that is kept: the interpreter may lie in a folder that only root can read."""
NOBODY = 65534
USERS = {
    "as it is": [],
    "ordinary": [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        f"--inh-caps={READ_ALL}",
        f"--ambient-caps={READ_ALL}",
    ],
}


def launch(user: Sequence[str], host: Host, folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run Python on such a host."""
    if user and (os.getuid() != 0 or shutil.which("setpriv") is None):
        pytest.skip("needs root and setpriv (util-linux); all tests run as an ordinary user already, otherwise")
    python = [*user, sys.executable, "-B", "-c", LAUNCHER, json.dumps(dict(host.denied)), *command]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(python, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("user", USERS.values(), ids=USERS)
@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
def test_what_is_missing_is_named_and_only_seccomp_is_refused(host: Host, user: list[str]) -> None:
    done = launch(user, host, ROOT, LOOK)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["user"] == (NOBODY if user else os.getuid())
    assert (told["value"], told["limit"]) == (42, "wall")
    assert set(told["missing"]) == host.missing
    assert all(told["missing"].values())
    if host.refused:
        assert told["refusal"].startswith("seccomp is not granted here: ")
        assert "--unsafe-no-sandbox" in told["refusal"]
    else:
        assert told["refusal"] == ""
        assert told["plain"] == ["PermissionError"] * 3, "seccomp alone holds plain Python"


def test_the_command_line_shows_what_is_missing_and_runs_no_plan_without_seccomp(tmp_path: Path) -> None:
    commands = [("envs", "--env", "toy", "--json"), ("replay", "--env", "toy", "--split", "all:1")]
    with ThreadPoolExecutor() as pool:
        shown, played = pool.map(lambda command: launch([], BARE, tmp_path, "-m", "planbook", *command), commands)
    found = {each["name"]: each for each in json.loads(shown.stdout.splitlines()[-1])["sandbox"]}
    assert {name for name, each in found.items() if not each["granted"]} == BARE.missing
    assert all(found[name]["reason"] for name in BARE.missing)
    assert {name for name, each in found.items() if each["required"]} == {"seccomp", "no_new_privs", "rlimits"}
    assert played.returncode == 3, played.stderr
    assert "seccomp is not granted here" in played.stderr


def test_a_run_whose_plans_were_not_confined_says_so(tmp_path: Path) -> None:
    replay = ["-m", "planbook", "replay", "--env", "toy", "--split", "all:1", "--out", str(tmp_path / "run")]
    played = launch([], BARE, tmp_path, *replay, "--unsafe-no-sandbox")
    assert played.returncode == 0, played.stderr
    assert "Plans were allowed to run where the kernel cannot confine them" in " ".join(played.stdout.split())
    assert json.loads((tmp_path / "run" / "run.json").read_text())["unsafe_no_sandbox"] is True
    page = tmp_path / "report.html"
    reported = launch([], BARE, tmp_path, "-m", "planbook", "report", str(tmp_path / "run"), "--out", str(page))
    assert reported.returncode == 0, reported.stderr
    assert "(--unsafe-no-sandbox)" in page.read_text(encoding="utf-8")


def test_judges_that_are_plan_code_run_in_the_sandbox_of_the_run(tmp_path: Path) -> None:
    tools = ROOT / "examples" / "tools"
    plan = tmp_path / "plan.py"
    plan.write_text("agent.remove(1)\nagent.remove(3)\nagent.answer()\n")
    env = ["--env", f"module:{tools}/notes.py:Notes", "-o", f"tasks={tools}/notes.yaml", "--task", "tidy/1"]
    command = ["-m", "planbook", "exec", str(plan), *env, "--out", str(tmp_path / "run"), "--json"]
    played = launch([], BARE, tmp_path, *command, "--unsafe-no-sandbox")
    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout.splitlines()[-1])["solved"] == 1
