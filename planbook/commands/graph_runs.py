"""`planbook graph run`: run a prompt graph, and record the answer of every node in the folder of a run.

In one *pass*, each node of the graph is run at most once. All passes belong to a single episode without an environment.
The episode ends when all passes are finished.
"""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from textwrap import indent
from typing import Any

from planbook import errors
from planbook.config import Config, InvocationSettings
from planbook.console import ERRORS
from planbook.envs import Task, Verdict
from planbook.errors import BadRun
from planbook.inputs import inputs_of_graph
from planbook.planner import (
    SPAN_END,
    SPAN_MOMENT,
    Body,
    BudgetEnded,
    Ending,
    EventKind,
    Graph,
    GraphDatabase,
    GraphFile,
    JournalMismatch,
    ModelError,
    NodeAnswered,
    Outcome,
    Scope,
    UnusableReply,
    run_pass,
    spans_in,
    value_text,
)
from planbook.runs import Run, new_folder
from planbook.terminal import describe_spending
from planbook.wording import counted
from planbook.workers import Switches, in_threads, roles_of

PRINTED_CHARS = 1_500
"""Maximum number of characters of an answer that are printed. The run's store contains the whole answer."""
EPISODE_SCOPE = "task/0"
"""The scope of the run's only episode."""


def run_graph(
    file: GraphFile, config: Config, invocation: InvocationSettings, out: Path | None, passes: int, max_concurrent: int
) -> tuple[int, dict[str, Any]]:
    """Run the passes in the folder ``out``, or resume the run in it. Return the exit code and the result.

    The option ``given`` of the planner in ``config`` maps paths in the graph's database to the user's values. The
    configuration does not contain the number of passes, which may change on resume.

    In the result, ``answer`` is the answer of the last pass, and ``answers`` maps each node of this pass to its answer.
    ``problem`` says why the passes stopped early; it is empty if all passes were finished.
    """
    task = Task(id=file.name, env=file.name, split="", type="graph", goal=file.about or file.name)
    inputs = inputs_of_graph(config, invocation.prices)
    with closing(Run.create(out or new_folder(config), config, [task], inputs=inputs)) as run:
        run.begin_invocation(invocation)
        try:
            return _GraphPasses(run, file, task, passes, max_concurrent).run_all()
        finally:
            run.end_invocation()


class _GraphPasses:
    """Runs the passes of one invocation. They run in a separate thread, so that Ctrl-C can interrupt every wait."""

    def __init__(self, run: Run, file: GraphFile, task: Task, passes: int, max_concurrent: int) -> None:
        self.run, self.file, self.task = run, file, task
        self.passes, self.max_concurrent = passes, max_concurrent
        self.switches = Switches()
        self.result: dict[str, Any] = {"graph": file.name, "passes": 0, "answer": None, "answers": {}, "skipped": []}
        self.database: GraphDatabase = file.new_database()
        self._open_nodes: dict[str, dict[str, Any]] = {}

    def run_all(self) -> tuple[int, dict[str, Any]]:
        """Run all passes, print a summary, and return the exit code and the result.

        Raises BadRun if the recorded passes do not fit the graph, or ModelError if a model is unavailable.
        """
        code, problem, remedy = self._run_in_thread()
        spent = self.run.meter.spent
        if spent.calls:
            ERRORS.print(f"{describe_spending(spent, self.run.meter.budget)}; {spent.seconds:.1f} s", style="dim")
        if problem:
            ERRORS.print(f"{problem}. {remedy}")
        else:
            ERRORS.print(f"Everything is in {self.run.folder}", style="dim")
        return code, self.result | {
            "database": self.database.values() if self.result["passes"] else {},
            "problem": problem,
            "model_calls": spent.calls,
            "tokens": spent.tokens,
            "money": spent.money,
            "seconds": round(spent.seconds, 3),
            "run": str(self.run.folder),
        }

    def _run_in_thread(self) -> tuple[int, str, str]:
        """Run the passes. Return the exit code, the reason why they stopped early (or ""), and how to continue them."""
        same_command = f"with the same command and --out {self.run.folder}"
        try:
            finished = in_threads(1, self._run_passes, self.switches.stop)
        except BudgetEnded as ended:
            return (
                errors.OUT_OF_BUDGET,
                f"Stopped: {ended}",
                f"Continue {same_command} --budget {ended.suggested_limit}",
            )
        except UnusableReply as unusable:
            return errors.BROKEN, f"A pass failed: {unusable}", f"Ask that node again {same_command}"
        except JournalMismatch as mismatch:
            raise BadRun(
                f"{self.run.folder} cannot be continued: {mismatch.scope} differs; a hook has changed, or is not "
                "deterministic. Name another folder"
            ) from mismatch
        except ModelError as error:
            raise type(error)(f"{error}. Once this is solved, resume {same_command}") from error
        return (errors.OK, "", "") if finished else (errors.INTERRUPTED, "Stopped", f"Continue {same_command}")

    def _run_passes(self, notify: Callable[[], None]) -> None:
        journal = self.run.journal(EPISODE_SCOPE, self._print)
        roles = roles_of(self.run, self.switches)
        user_values: Any = self.run.config.planner_options["given"]
        for path, value in user_values.items():
            self.database.set(path, value)
        graph = Graph(*self.file.nodes.values())
        recorded = spans_in(self.run.store.events(EPISODE_SCOPE))
        begun = [dict(span.data) for span in recorded if span.end is None]
        self._open_nodes = {NodeAnswered.model_validate(data).title: data for data in begun}
        if answered := sum(span.end is not None for span in recorded):
            ERRORS.print(f"{counted(answered, 'node')} had already been answered.", style="dim")
        scope = Scope(journal, EPISODE_SCOPE, roles).child("round")
        scope.record("task", task=self.task.model_dump(mode="json"), observation={"text": ""})
        for number in range(self.passes):
            self._run_one_pass(number, scope.child("pass"), graph)
        solved = Ending(outcome=Outcome.DIRECT_SUCCESS, verdict=Verdict(True, 1.0))
        Scope(journal, EPISODE_SCOPE).get_or_record("outcome", lambda: solved.model_dump(mode="json"))

    def _run_one_pass(self, number: int, scope: Scope, graph: Graph) -> None:
        limit, hooks = self.max_concurrent, self.file.hooks
        completed = run_pass(
            graph, self.database, scope, number=number, hooks=hooks, max_concurrent=limit, retry_failed=True
        )
        answer = completed.answers[self.file.code] if self.file.code else completed.last_answer
        self.result |= {
            "passes": number + 1,
            "answer": answer,
            "answers": completed.answers,
            "skipped": list(completed.skipped),
        }

    def _print(self, kind: EventKind, body: Body) -> None:
        """Print a node once it is answered. Until then, keep the data that was recorded at its beginning."""
        if kind != "span":
            return
        span: Any = body
        self._open_nodes[span["title"]] = {**self._open_nodes.get(span["title"], {}), **span["data"]}
        if span["at"] in (SPAN_MOMENT, SPAN_END):
            ERRORS.print(_node_line(span["title"], self._open_nodes.pop(span["title"])))


def _node_line(title: str, body: Any) -> str:
    """Describe a node and its answer. ``body`` is the collected data of the node's events."""
    note = " (skipped: this answer is kept)" if body["skipped"] else ""
    answer = value_text(body["answer"])
    ellipsis = f"\n... {len(answer) - PRINTED_CHARS:,} characters more" if len(answer) > PRINTED_CHARS else ""
    return f"{title}{note}\n{indent(answer[:PRINTED_CHARS] + ellipsis, '    ')}"
