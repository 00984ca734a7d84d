"""Reads the goals of a plan (DEPS, appendix C.4): the plan's code runs with collectors in place of the goals.

Nothing happens in the environment. Text that is no valid call of a goal is mapped to the nearest known goal
(text_matching.py), and marked as such.
"""

import ast
import builtins
import re
from collections.abc import Sequence

from pydantic import JsonValue

from planbook.envs import Action, ActionSpec, Environment
from planbook.planner.agent import AGENT, ActionDocs, action_docs_of, call_of, plan_function, shown
from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver
from planbook.planner.frames import Frame, Functions
from planbook.planner.strategies.deps.text_matching import LONGEST, GoalMatcher
from planbook.planner.thought import read_thought
from planbook.planner.types import FeedbackKind, Record
from planbook.sandbox import Fault, check, parse, read_reply

MOST = 100
"""Maximum number of goals in a plan."""
UNCLEAR = "unclear"
JSON_NAMES = "null, true, false = None, True, False"
"""JSON constants, which planners also write."""
_MARK = re.compile(r"^\s*(?:[-*•]|#?\s*(?:step\s*)?\d{1,3}\s*[.):]?)\s+", re.IGNORECASE)
_NO_GOAL = re.compile(r"\s*(?:def |return\b|from |import |```|#|$)")


class Goal(Record):
    """A goal of a plan. ``said`` is the original text if it was no valid call."""

    action: Action
    line: int | None
    source: str
    """The plan line as written."""
    said: str = ""

    @property
    def call(self) -> str:
        """Return the goal as a call, in plan code."""
        return call_of(self.action)


class GoalPlan(Record):
    """The goals of a plan in order, and its lines that name none."""

    goals: tuple[Goal, ...]
    no_goals: tuple[str, ...] = ()


def goal_docs(environment: Environment) -> ActionDocs:
    """Return the docs of an environment's goals. Its helpers act and are left out."""
    goals = tuple(map(shown, environment.goals.specs.values()))
    return action_docs_of(environment).model_copy(update={"actions": goals, "helpers": ""})


def collect(episode: Episode, role: str, reply: str) -> GoalPlan:
    """Read the goals of a plan. Raises ValueError that says why the reply is none.

    A line that is no valid call stands for the goal it is most like (appendix C.4); one that is like none names no
    goal, and fails alone.
    """
    found = read_reply(reply)
    code = found.code if found.problem is None else _line_by_line(found.code, reply, str(found.problem))
    collector = _Collector(episode.environment)
    with episode.frame("collect", collector.functions(), JSON_NAMES) as frame:
        collector.frame, collector.lines = frame, code.split("\n")
        code = collector.runnable(code)
        feedback = episode.run(code, source=role, thought=read_thought(found.before))
    if collector.endless:
        raise ValueError(
            f"the plan names more than {MOST} goals. Nothing happens while they are listed, so a loop that waits for "
            "the effect of a goal does not end: name each goal as often as it is wanted"
        )
    if feedback.kind is not FeedbackKind.UNFINISHED:
        raise ValueError(f"{feedback.text}\nThe goals are only listed at first; their calls return nothing.")
    if collector.goals:
        return GoalPlan(goals=tuple(collector.goals), no_goals=tuple(collector.unlike))
    if collector.unlike:
        goals = ", ".join(f"{AGENT}.{name}" for name in episode.environment.goals.specs)
        listed = "\n".join(collector.unlike)
        raise ValueError(f"these lines name no goal:\n{listed}\nThe goals are {goals}, each with its arguments")
    raise ValueError("the plan names no goal")


class _Collector:
    """Stands for an environment's goals while a plan runs, and lists them."""

    frame: Frame

    def __init__(self, environment: Environment) -> None:
        self._environment, self._api = environment, environment.goals
        self._likeness = GoalMatcher(self._api)
        self.goals: list[Goal] = []
        self.unlike: list[str] = []
        self.endless = False
        self.lines: Sequence[str] = ()

    def functions(self) -> Functions:
        """Return the collecting functions, under ``agent`` and bare. Actions that are no goals do nothing."""
        goals = {name: plan_function(spec, self._note) for name, spec in self._api.specs.items()}
        bare = {name: function for name, function in goals.items() if not hasattr(builtins, name)}
        acting = {name: plan_function(spec, self._refuse) for name, spec in self._environment.offer.actions.items()}
        dotted = {f"{AGENT}.{name}": function for name, function in {**acting, **goals}.items()}
        return {**dotted, **bare, UNCLEAR: self._unclear}

    def runnable(self, code: str) -> str:
        """Return the plan with a call of its last function, if it calls none, and with invalid goals marked."""
        faults = self._faults(code)
        if any(fault.type == "only-definitions" for fault in faults):
            code = f"{code.rstrip()}\n\n\n{_last_function(code)}()\n"
            faults = self._faults(code)
        return _marked(code, faults)

    def _faults(self, code: str) -> list[Fault]:
        goals = {f"{AGENT}.{name}" for name in self._api.specs}
        no_goals = {f"{AGENT}.{name}" for name in self._environment.offer.actions} - goals
        functions = {name: each for name, each in self.frame.functions.items() if name not in no_goals}
        frame = self.frame
        return check(code, functions, attributes=frame.attributes, names=frame.names, modules=frame.modules)

    def _note(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        self._add(spec.bind(*args, **kwargs))
        return ""

    def _refuse(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        raise ValueError(
            f"{AGENT}.{spec.name} is no goal: plans name goals, and how they are reached is found out later"
        )

    def _unclear(self, said: str) -> None:
        """Map a line to the known goal that it means."""
        if goal := self._likeness.nearest(said):
            self._add(goal, said)
        else:
            self._count()
            self.unlike.append(said[:LONGEST])

    def _count(self) -> None:
        """Raises CellOver if there are too many lines to be a plan."""
        if len(self.goals) + len(self.unlike) == MOST:
            self.endless = True
            raise CellOver(f"These are more than {MOST} goals.")

    def _add(self, action: Action, said: str = "") -> None:
        self._count()
        line = self.frame.session.line
        source = self.lines[line - 1].strip() if line and line <= len(self.lines) else ""
        self.goals.append(Goal(action=action, line=line, source=said[:LONGEST] or source, said=said[:LONGEST]))


def _last_function(code: str) -> str:
    """Return the last function of a plan. Raises ValueError if it cannot be called without arguments."""
    tree = parse(code)
    defined = [] if isinstance(tree, Fault) else [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not defined:
        raise ValueError("the plan only defines things; nothing in it names a goal")
    last, given = defined[-1], defined[-1].args
    required = len(given.posonlyargs) + len(given.args) - len(given.defaults) + given.kw_defaults.count(None)
    if required:
        raise ValueError(f"the plan only defines {last.name}, which takes arguments; call it at the end of the plan")
    return last.name


def _marked(code: str, faults: Sequence[Fault]) -> str:
    """Return the code with each faulty call statement on lines of its own marked as unclear."""
    tree, lines = parse(code), code.split("\n")
    if isinstance(tree, Fault) or not faults:
        return code
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    faulty = {fault.line for fault in faults if fault.line}
    for node in calls:
        span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if faulty.isdisjoint(span) or not _alone(node, tree, lines):
            continue
        said = " ".join(line.strip() for line in lines[span.start - 1 : span.stop - 1])
        lines[span.start - 1 : span.stop - 1] = [
            f"{lines[node.lineno - 1][: node.col_offset]}{UNCLEAR}({said!r})",
            *[""] * (len(span) - 1),
        ]
    return "\n".join(lines)


def _alone(node: ast.Expr, tree: ast.Module, lines: Sequence[str]) -> bool:
    """Return whether a statement shares no line with another."""
    ends = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and each is not node]
    shared = any(other.lineno in (node.lineno, node.end_lineno) for other in ends)
    return not shared and not lines[node.lineno - 1][: node.col_offset].strip()


def _line_by_line(code: str, reply: str, problem: str) -> str:
    """Return code for a reply without code: calls stay, other lines of the list are marked as unclear.

    Raises ValueError if nothing in it looks like a list of goals.
    """
    listed = code.split("\n") if code else [line for line in reply.split("\n") if _MARK.match(line)]
    if code:
        listed = [line for line in listed if not line.lstrip().startswith("#")]
    told = [line for line in (_MARK.sub("", each).strip() for each in listed) if not _NO_GOAL.match(line)]
    if not told:
        raise ValueError(problem)
    return "\n".join(line if _is_call(line) else f"{UNCLEAR}({line!r})" for line in told)


def _is_call(line: str) -> bool:
    tree = parse(line)
    if isinstance(tree, Fault) or len(tree.body) != 1:
        return False
    statement = tree.body[0]
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
