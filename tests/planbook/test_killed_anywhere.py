"""kill -9 at every line of beginning a run, and after every event of playing it: nothing is lost, nothing comes twice.

The process kills itself, so that every place is met, whatever the machine's load.
"""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planbook.planner import Body
from planbook.run import Run

ROOT = Path(__file__).parents[2]

BEGIN = """
import os, signal, sys
from pathlib import Path
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.errors import BadRun
from planbook.config import Config
from planbook.run import Run

CONFIG = Config(planner="procedures", env="toy", actions=30, selection=Selection(limit=2))
TASKS = Toy.tasks(CONFIG.selection)
STORE = (f"planbook.store.{name}" for name in ("store", "sqlite", "tables"))
OURS = ("planbook.run.run", "planbook.run.file", "planbook.run.folder", "planbook.writing", *STORE)
FILES = tuple(str(Path(sys.modules[name].__file__)) for name in OURS)
base = Path(sys.argv[1])


def begin(folder, met):
    def trace(frame, event, argument):
        if frame.f_code.co_filename not in FILES:
            return None
        if event == "line":
            met((frame.f_code.co_filename, frame.f_lineno))
        return trace

    sys.settrace(trace)
    try:
        return Run.create(folder, CONFIG, TASKS)
    finally:
        sys.settrace(None)


def kill_at(last):
    left = last

    def met(place):
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return met


def moments():
    '''The first and the last time that each line is met: in between it does the same again.'''
    places = []
    begin(base / "rehearsal", places.append).close()
    numbered = [(place, at) for at, place in enumerate(places, 1)]
    return sorted({*dict(numbered).values(), *dict(reversed(numbered)).values()})


tried = moments()
for at in tried:
    folder = base / str(at)
    child = os.fork()
    if child == 0:
        begin(folder, kill_at(at))
        os._exit(0)
    killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    left = sorted(path.name for path in folder.iterdir()) if folder.exists() else None
    assert killed, (at, left)
    try:
        run = Run.create(folder, CONFIG, TASKS)
        listed = [(entry.index, entry.task.id) for entry in run.entries()]
        assert listed == list(enumerate(task.id for task in TASKS)), (at, left, listed)
        events = [(row.scope, row.kind, row.n) for row in run.store.events()]
        assert len(events) == len(TASKS), (at, left, events)
        assert not (folder / "run.new").exists(), (at, left)
        run.close()
    except BadRun as error:
        raise SystemExit(f"killed at line {at}, with {left} left: {error}")
print(len(tried))
"""


def test_a_run_killed_at_any_line_of_its_beginning_can_be_begun_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BEGIN, tmp_path], cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 60, "too few places were tried"


PLAY = """
import os, signal, sys
from pathlib import Path
from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.manuals import ProcedureLibrary
from planbook.workers.steering import Hosting
from planbook.config import Config
from planbook.run import Run
from planbook.workers.driver import play_episodes

folder, left = Path(sys.argv[1]), int(sys.argv[2])
config = Config(planner="procedures", env="toy", actions=30, selection=Selection(limit=4))
run = Run.create(folder, config, Toy.tasks(config.selection))


def watch(kind, body):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


play_episodes(run, ProcedureLibrary(Toy), lambda entry, ending: None, hosting=Hosting(jobs=2), watch=watch)
run.close()
"""


def play(folder: Path, kill_at: int) -> int:
    """Play the run in a process of its own, which kills itself after so many new events."""
    return subprocess.run([sys.executable, "-c", PLAY, folder, str(kill_at)], cwd=ROOT, timeout=120).returncode


def events(folder: Path) -> list[tuple[str, str, int, Body]]:
    run = Run.open(folder)
    found = [(row.scope, row.kind, row.n, row.body) for row in run.store.events()]
    run.close()
    return sorted(found, key=lambda row: row[:3])


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, int, Body]]:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert play(folder, 0) == 0
    return events(folder)


@pytest.mark.parametrize("every", [5, *(pytest.param(each, marks=pytest.mark.deep) for each in (1, 2, 13))])
def test_a_run_killed_again_and_again_ends_as_an_undisturbed_one(
    tmp_path: Path, undisturbed: list[tuple[str, str, int, Body]], every: int
) -> None:
    """Four times each lives for so many new events; the fifth life is not cut short."""
    for life in range(1, 5):
        assert play(tmp_path / "run", every) == -signal.SIGKILL
        assert len(events(tmp_path / "run")) >= 4 + life * every
    assert play(tmp_path / "run", 0) == 0
    assert events(tmp_path / "run") == undisturbed
