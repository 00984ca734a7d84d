"""Run procedures on the real world and show what they do: ``python -m tests.manuals.try_procedure TYPE [SEED ...]``.

For people who write procedures: plain ``exec`` without the sandbox, one browser, seeds 0 to 9 unless given, ``all`` for
every type that has a procedure. Each action is printed with what became of it; ``-q`` prints only the verdicts,
``-v`` also each page.
"""

import argparse
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from pydantic import JsonValue

from envs.base import Action, Observation, Selection, Task
from envs.miniwob import Miniwob

FOLDER = Path(__file__).parents[2] / "manuals" / "miniwob"
ENDED = "the episode is over"


class EpisodeOver(BaseException):
    """Unwinds the procedure at the end of the episode or of its actions."""


def source_of(type_name: str) -> str:
    """The procedure's code, its helper file's before it."""
    code = procedure_file(type_name).read_text(encoding="utf-8")
    if uses := re.search(r"^uses: (.+)$", code, re.MULTILINE):
        helpers = [FOLDER / "helpers" / f"{name.strip()}.py" for name in uses[1].split(",")]
        return "\n\n".join([*(path.read_text(encoding="utf-8") for path in helpers), code])
    return code


def procedure_file(type_name: str) -> Path:
    """Where the procedure of a type lies."""
    return FOLDER / "procedures" / f"{type_name.replace('-', '_')}.py"


class Agent:
    """What the plan sees as ``agent``: the world's actions and queries, counted."""

    def __init__(self, world: Miniwob, show: Callable[[Action, Observation], None]) -> None:
        self.__dict__.update({name: self._action(world, name, show) for name in world.actions})
        self.__dict__.update({name: getattr(world, name) for name in world.queries})

    @staticmethod
    def _action(world: Miniwob, name: str, show: Callable[[Action, Observation], None]) -> Callable[..., str]:
        def call(*args: JsonValue, **kwargs: JsonValue) -> str:
            if len(world.history) >= world.action_limit:
                raise EpisodeOver(f"more than {world.action_limit} actions")
            action = world.actions[name].bind(*args, **kwargs)
            observation = world.act(action)
            show(action, observation)
            if world.ended:
                raise EpisodeOver(ENDED)
            return observation.text

        return call


def play(world: Miniwob, task: Task, show: Callable[[Action, Observation], None]) -> str:
    """Play one task with its procedure; the answer is empty if it is solved, else the reason."""
    observation = world.reset(task)
    begun = world.task or task
    facts = SimpleNamespace(**begun.model_dump(include={"id", "goal", "type", "params"}), observation=observation.text)
    space: dict[str, object] = {}
    try:
        exec(compile(source_of(task.type), str(procedure_file(task.type)), "exec"), space)
        solve = space["solve"]
        assert callable(solve)
        solve(Agent(world, show), facts)
        reason = "the procedure returned before the end of the episode"
    except EpisodeOver as over:
        reason = str(over)
    except Exception:
        reason = traceback.format_exc(limit=-3)
    if world.verdict().solved:
        return ""
    return f"score {world.verdict().score}" if reason == ENDED else reason


def written() -> list[str]:
    """The types that have a procedure."""
    return [name for name in Miniwob.types if procedure_file(name).exists()]


def main() -> int:
    """Play what the command line asks for; 0 if all of it was solved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("type", help="a task type, or all")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-q", "--quiet", action="store_true")
    arguments = parser.parse_args()
    types = written() if arguments.type == "all" else [arguments.type]
    seeds = tuple(arguments.seeds or range(10))
    world, failed = Miniwob(), 0

    def show(action: Action, observation: Observation) -> None:
        if arguments.quiet:
            return
        print(f"  {action}: {'accepted' if observation.accepted else observation.text.splitlines()[0]}")
        if arguments.verbose:
            print(observation.text)

    for task in Miniwob.tasks(Selection(types=tuple(types), seeds=seeds)):
        reason = play(world, task, show)
        failed += bool(reason)
        print(f"{task.id}: {'solved' if not reason else 'FAILED: ' + reason} in {len(world.history)} actions")
        if (reason or not arguments.quiet) and world.task:
            print(f"  goal: {world.task.goal}  params: {world.task.params}")
    world.close()
    print(f"{failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
