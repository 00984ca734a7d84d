"""Read the goals of a plan (DEPS paper, appendix C.4).

A plan is Python code with calls such as ``mine("log")``. Each call names a goal. The code is run with functions that
only collect the goals, so nothing happens in the environment. A line that is not a valid call is mapped to the known
goal that it names (see ``text_matching``).
"""

import ast
import builtins
import re
from collections.abc import Sequence

from pydantic import JsonValue

from planbook.envs import Action, ActionSpec, Environment
from planbook.planner.agent import AGENT, ActionDocs, action_doc, action_docs_of, format_call, plan_function
from planbook.planner.episode import Episode
from planbook.planner.errors import CellOver
from planbook.planner.frames import Frame, Functions
from planbook.planner.replies import has_call, read_thought
from planbook.planner.strategies.deps.text_matching import MAX_LINE, GoalMatcher
from planbook.planner.types import FeedbackKind, Record
from planbook.sandbox import Fault, check, parse, read_reply

MAX_GOALS = 100
"""Maximum number of goals in a plan."""
UNCLEAR = "unclear"
"""The name of the function that maps a line to a goal. Its calls replace lines that are not valid calls."""
JSON_NAMES = "null, true, false = None, True, False"
"""Code that defines JSON's constants, since planners sometimes write these instead of Python's constants."""
_LIST_MARK = re.compile(r"^\s*(?:[-*•]|#?\s*(?:step\s*)?\d{1,3}\s*[.):]?)\s+", re.IGNORECASE)
_BLOCK = re.compile(
    r"\s*(?:for|while|if|elif|else|try|except|finally|with|match|case)\b.*:\s*(?:#.*)?$|.*(?:\"{3}|'{3})"
)
"""Matches lines of a block that cannot be read alone: the beginning of a loop or branch, and a docstring's quotes."""
_NO_GOAL = re.compile(r"\s*(?:def |return\b|from |import |```|#|$)")


class Goal(Record):
    """A goal of a plan."""

    action: Action
    line: int | None
    """Number of the goal's line in the plan."""
    source: str
    """The goal's line in the plan, without indentation. If the line was not a valid call, this is ``said``."""
    said: str = ""
    """If the line was not a valid call: the beginning of its text. Otherwise empty."""

    @property
    def call(self) -> str:
        """The goal as plan code would call it, such as ``agent.mine('log')``."""
        return format_call(self.action)


class GoalPlan(Record):
    """The goals of a plan in order, and the lines that could not be mapped to a goal (``unmatched``)."""

    goals: tuple[Goal, ...]
    unmatched: tuple[str, ...] = ()


def goal_docs(environment: Environment) -> ActionDocs:
    """Return the documentation of an environment's goals, for prompts.

    The environment's helper functions are left out, since they take actions.
    """
    goals = tuple(map(action_doc, environment.goals.specs.values()))
    return action_docs_of(environment).model_copy(update={"actions": goals, "helpers": ""})


def collect(episode: Episode, role: str, reply: str) -> GoalPlan:
    """Read the goals of a plan from a planner's reply.

    A line that is not a valid call is mapped to the goal whose words it contains. If there is none, the line is listed
    in ``unmatched``, and the other lines still count. Raises ValueError, with a message for the planner, if the reply
    is not a plan or names no goal.
    """
    parsed = read_reply(reply)
    code = parsed.code if parsed.problem is None else _line_by_line(parsed.code, reply, str(parsed.problem))
    collector = _Collector(episode.environment)
    with episode.frame("collect", collector.functions(), JSON_NAMES) as frame:
        collector.frame = frame
        code = collector.runnable(code)
        collector.lines = code.split("\n")
        feedback = episode.run(code, source=role, thought=read_thought(parsed.before))
    if collector.too_many:
        raise ValueError(
            f"the plan names more than {MAX_GOALS} goals. Nothing happens while they are listed, so a loop that waits "
            "for the effect of a goal does not end: list each goal as often as it is needed"
        )
    if feedback.kind is not FeedbackKind.UNFINISHED:
        raise ValueError(f"{feedback.text}\nThe plan only lists goals; their calls return nothing.")
    goals = tuple(entry for entry in collector.entries if isinstance(entry, Goal))
    unmatched = tuple(entry for entry in collector.entries if isinstance(entry, str))
    if goals:
        return GoalPlan(goals=goals, unmatched=unmatched)
    if unmatched:
        lines, known = "\n".join(unmatched), ", ".join(f"{AGENT}.{name}" for name in episode.environment.goals.specs)
        raise ValueError(f"these lines name no goal:\n{lines}\nThe goals are {known}, each with its arguments")
    raise ValueError("the plan names no goal")


class _Collector:
    """Provides functions that plan code calls in place of the environment's actions, and collects their goals."""

    frame: Frame

    def __init__(self, environment: Environment) -> None:
        self._environment, self._goal_specs = environment, environment.goals.specs
        self._matcher = GoalMatcher(environment.goals)
        self.entries: list[Goal | str] = []
        """The goals of the plan, and the lines that could not be mapped to a goal."""
        self.too_many = False
        self.lines: Sequence[str] = ()

    def functions(self) -> Functions:
        """Return the functions that collect goals. Plan code can call them as ``agent.NAME`` and as NAME.

        A call of an action that is not a goal raises ValueError.
        """
        goals = {name: plan_function(spec, self._collect) for name, spec in self._goal_specs.items()}
        undotted = {name: function for name, function in goals.items() if not hasattr(builtins, name)}
        actions = {name: plan_function(spec, self._refuse) for name, spec in self._environment.offer.actions.items()}
        dotted = {f"{AGENT}.{name}": function for name, function in {**actions, **goals}.items()}
        return {**dotted, **undotted, UNCLEAR: self._unclear}

    def runnable(self, code: str) -> str:
        """Return the plan in a form that can be run.

        Each call that is not valid is replaced by a call of ``unclear``. If the plan only defines functions, a call of
        the last function is added.
        """
        faults = self._faults(code)
        if any(fault.type == "only-definitions" for fault in faults):
            code = f"{code.rstrip()}\n\n\n{_last_function(code)}()\n"
            faults = self._faults(code)
        return _mark_unclear(code, faults)

    def _faults(self, code: str) -> list[Fault]:
        """Return the faults of the plan. A call of an action that is not a goal counts as a fault."""
        frame, other_actions = self.frame, self._environment.offer.actions.keys() - self._goal_specs.keys()
        dotted = {f"{AGENT}.{name}" for name in other_actions}
        functions = {name: function for name, function in frame.functions.items() if name not in dotted}
        return check(code, functions, attributes=frame.attributes, names=frame.names, modules=frame.modules)

    def _collect(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        self._add(self._goal(spec.bind(*args, **kwargs)))
        return ""

    def _refuse(self, spec: ActionSpec, /, *args: JsonValue, **kwargs: JsonValue) -> JsonValue:
        raise ValueError(f"{AGENT}.{spec.name} is not a goal: a plan lists only goals, which are then carried out")

    def _unclear(self, said: str) -> None:
        """Add the known goal that a line means or, if there is none, list the line as unmatched."""
        goal = self._matcher.match(said)
        self._add(self._goal(goal, said[:MAX_LINE]) if goal else said[:MAX_LINE])

    def _add(self, entry: Goal | str) -> None:
        """Add a goal or an unmatched line. Raises CellOver to stop the plan if there are too many."""
        if len(self.entries) == MAX_GOALS:
            self.too_many = True
            raise CellOver(f"There are more than {MAX_GOALS} goals.")
        self.entries.append(entry)

    def _goal(self, action: Action, said: str = "") -> Goal:
        line = self.frame.session.line
        source = self.lines[line - 1].strip() if line and line <= len(self.lines) else ""
        return Goal(action=action, line=line, source=said or source, said=said)


def _last_function(code: str) -> str:
    """Return the name of a plan's last function. Raises ValueError if it cannot be called without arguments."""
    tree = parse(code)
    functions = [] if isinstance(tree, Fault) else [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not functions:
        raise ValueError("the plan only defines things; nothing in it names a goal")
    last, args = functions[-1], functions[-1].args
    if len(args.posonlyargs) + len(args.args) - len(args.defaults) + args.kw_defaults.count(None):
        raise ValueError(f"the plan only defines {last.name}, which takes arguments; call it at the end of the plan")
    return last.name


def _mark_unclear(code: str, faults: Sequence[Fault]) -> str:
    """Replace each faulty call with a call of ``unclear``, unless the call shares a line with another statement."""
    tree, lines = parse(code), code.split("\n")
    if isinstance(tree, Fault) or not faults:
        return code
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    faulty = {fault.line for fault in faults if fault.line}
    for node in calls:
        span = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if faulty.isdisjoint(span) or not _is_alone(node, tree, lines):
            continue
        call = " ".join(line.strip() for line in lines[span.start - 1 : span.stop - 1])
        lines[span.start - 1 : span.stop - 1] = [
            f"{lines[node.lineno - 1][: node.col_offset]}{UNCLEAR}({call!r})",
            *[""] * (len(span) - 1),
        ]
    return "\n".join(lines)


def _is_alone(node: ast.Expr, tree: ast.Module, lines: Sequence[str]) -> bool:
    """Return True if the statement does not share a line with other statements.

    That is, nothing precedes it on its first line, and no other statement begins on its first or last line.
    """
    statements = [other for other in ast.walk(tree) if isinstance(other, ast.stmt) and other is not node]
    shares_line = any(statement.lineno in (node.lineno, node.end_lineno) for statement in statements)
    return not shares_line and not lines[node.lineno - 1][: node.col_offset].strip()


def _line_by_line(code: str, reply: str, problem: str) -> str:
    """Return code that can be run, for a reply whose code is missing or invalid.

    It is made from the lines of the invalid code. If the reply has no code, it is made from the items of a list or, if
    any line is a call, from all lines from the first item or call on. Raises ValueError with the reply's ``problem`` if
    no line looks like a goal, or if the reply has no code, but has a call together with a block or a docstring.
    """
    if code:
        lines = [line for line in code.split("\n") if not line.lstrip().startswith("#")]
    else:
        lines = reply.split("\n")
        items = [line for line in lines if _LIST_MARK.match(line)]
        first = next((number for number, line in enumerate(lines) if has_call(line)), None)
        if first is not None and any(map(_BLOCK.match, lines)):
            raise ValueError(problem)
        lines = items if first is None else lines[min([first, *map(lines.index, items[:1])]) :]
    if goals := _goal_lines(lines):
        return goals
    raise ValueError(problem)


def _goal_lines(lines: Sequence[str]) -> str:
    """Return code for the lines that may be goals. A line that is not a call becomes the argument of ``unclear``."""
    goals = [goal for goal in (_LIST_MARK.sub("", line).strip() for line in lines) if not _NO_GOAL.match(goal)]
    return "\n".join(goal if _is_call(goal) else f"{UNCLEAR}({goal!r})" for goal in goals)


def _is_call(line: str) -> bool:
    tree = parse(line)
    if isinstance(tree, Fault) or len(tree.body) != 1:
        return False
    statement = tree.body[0]
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
