"""`planbook graph run`: passes of a graph in a run folder, saved node by node.

The run has one episode, without an environment: its one round holds the passes. It ends when all passes are through.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from textwrap import indent
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook import errors
from planbook.config import Config, Invocation
from planbook.console import ERRORS
from planbook.envs import Task, Verdict
from planbook.errors import BadRun
from planbook.inputs import inputs_of_graph
from planbook.planner import (
    SPAN_END,
    SPAN_MOMENT,
    Body,
    Budget,
    BudgetEnded,
    Ending,
    EpisodeStopped,
    EventKind,
    Graph,
    GraphDatabase,
    GraphFile,
    JournalFailed,
    JournalMismatch,
    ModelError,
    Outcome,
    Sampling,
    Scope,
    Spent,
    Timeouts,
    UnusableReply,
    run_pass,
    spans_in,
    value_text,
)
from planbook.runs import GRAPH_PLANNER, Run, new_folder
from planbook.terminal.printing import spending
from planbook.wording import counted, harmless
from planbook.workers import LOG, STOPPING, roles_of, wait_for

SHOWN = 1_500
"""Characters of an answer that are printed as it comes; the store has all of it."""
EPISODE = "task/0"
"""The scope of the run's one episode."""


class GraphArguments(NamedTuple):
    """The arguments of a run."""

    models: Mapping[str, str]
    sampling: Mapping[str, Sampling]
    values: Mapping[str, JsonValue]
    """Values that the user puts into the database, by path."""
    passes: int = 1
    side_by_side: int = 1
    budget: Budget | None = None
    timeouts: Timeouts | None = None
    prices: Path | None = None


class GraphRan(BaseModel):
    """The object that ends the standard output of ``--json``.

    ``answer`` is that of the last pass, ``answers`` are those of all its nodes; ``problem`` says why it stopped early.
    """

    model_config = ConfigDict(frozen=True)

    graph: str
    passes: int
    answer: JsonValue = None
    answers: dict[str, JsonValue] = {}
    skipped: tuple[str, ...] = ()
    database: dict[str, JsonValue] = {}
    problem: str = ""
    model_calls: int = 0
    tokens: int = 0
    money: float | None = 0.0
    seconds: float = 0.0
    run: str


class GraphRun(Run):
    """A run folder with passes of a graph."""

    of_a_graph = True

    @classmethod
    def _other(cls, different: Sequence[str]) -> str:
        """In the words of ``planbook graph run``."""
        if "planner_options.graph" in different:
            return "the graph has changed since, and a changed graph is another run"
        return super()._other([each.replace("planner_options.given.", "--set ") for each in different])


def config_of(file: GraphFile, text: str, given: GraphArguments) -> Config:
    """Return what a run of a graph records of its arguments; the number of passes may differ the next time."""
    asked: dict[str, JsonValue] = {"graph": text, "given": dict(given.values)}
    return Config(
        planner=GRAPH_PLANNER,
        planner_options=asked,
        env=file.name,
        actions=0,
        models=dict(given.models),
        sampling=dict(given.sampling),
    )


def task_of(file: GraphFile) -> Task:
    """Return the task that stands for the graph in its run."""
    return Task(id=file.name, env=file.name, split="", type="graph", goal=file.about or file.name)


def run_graph(file: GraphFile, text: str, given: GraphArguments, out: Path | None) -> tuple[int, GraphRan]:
    """Run the passes, or continue them where the folder holds the same run. Returns the exit code and the result."""
    config, task = config_of(file, text, given), task_of(file)
    made = inputs_of_graph(config, given.prices)
    with closing(GraphRun.create(out or new_folder(config), config, [task], made_of=made)) as run:
        run.begin_invocation(Invocation(budget=given.budget, prices=given.prices, timeouts=given.timeouts))
        try:
            return _Traversing(run, file, given).carry_out()
        finally:
            run.end_invocation()


class _Traversing:
    """The passes of one invocation, in a thread of their own, so that Ctrl-C ends any wait."""

    def __init__(self, run: GraphRun, file: GraphFile, given: GraphArguments) -> None:
        self.run, self.file, self.given = run, file, given
        self.stop = threading.Event()
        self.error: BaseException | None = None
        self.ran = GraphRan(graph=file.name, passes=0, run=str(run.folder))
        self.database: GraphDatabase = file.new_database()
        self._begun: dict[str, dict[str, Any]] = {}

    def carry_out(self) -> tuple[int, GraphRan]:
        """Run every pass, or as many as possible. Errors that the run cannot record are raised."""
        thread = threading.Thread(target=self._work, daemon=True)
        interrupted = False
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            interrupted = True
            LOG.warning(STOPPING)
            self.stop.set()
            wait_for([thread])
        code, problem = (errors.INTERRUPTED, "Stopped") if interrupted else self._ending()
        spent = self.run.meter.spent
        if spent.calls:
            ERRORS.print(f"{spending(spent, self.run.meter.budget)}; {spent.seconds:.1f} s", style="dim")
        if problem:
            ERRORS.print(f"{problem}. {self._how_to_go_on()}", soft_wrap=True)
        else:
            ERRORS.print(f"Everything is in {self.run.folder}", style="dim", soft_wrap=True)
        return code, self.ran.model_copy(update={"problem": problem, **_figures(spent)})

    def _how_to_go_on(self) -> str:
        same = f"with the same command and --out {self.run.folder}"
        if isinstance(self.error, BudgetEnded):
            same += f" --budget {self.error.larger}"
        return f"Ask that node again {same}" if isinstance(self.error, UnusableReply) else f"Go on {same}"

    def _ending(self) -> tuple[int, str]:
        error = self.error
        if error is None:
            return errors.OK, ""
        if isinstance(error, BudgetEnded):
            return errors.OUT_OF_BUDGET, f"Stopped: {error}"
        if isinstance(error, UnusableReply):
            return errors.BROKEN, f"Pass {self.ran.passes + 1} failed: {error}"
        if isinstance(error, JournalMismatch):
            what = f"what {self.run.folder} holds does not fit any more: {error.scope} differs"
            raise BadRun(f"{what}; a hook has changed, or is not deterministic. Name another folder") from error
        if isinstance(error, ModelError):
            again = f"{error}. Then resume with the same command and --out {self.run.folder}"
            raise type(error)(again) from error
        raise (error.__cause__ if isinstance(error, JournalFailed) else None) or error

    def _work(self) -> None:
        try:
            journal = self.run.journal(EPISODE, self._print)
            roles = roles_of(self.run, self.stop.is_set).guarded(self._guard)
            for path, value in self.given.values.items():
                self.database.set(path, value)
            graph = Graph(*self.file.nodes.values())
            recorded = spans_in(self.run.store.events(EPISODE))
            self._begun = {span.title: dict(span.data) for span in recorded if span.end is None}
            if answered := sum(span.end is not None for span in recorded):
                ERRORS.print(f"{counted(answered, 'node')} had been answered already.", style="dim")
            played = Scope(journal, EPISODE, roles).child("round")
            played.record("task", task=task_of(self.file).model_dump(mode="json"), observation={"text": ""})
            for number in range(self.given.passes):
                self._pass(number, played.child("pass"), graph)
            solved = Ending(outcome=Outcome.DIRECT_SUCCESS, verdict=Verdict(True, 1.0))
            Scope(journal, EPISODE).once("outcome", lambda: solved.model_dump(mode="json"))
        except EpisodeStopped:
            pass
        except BaseException as error:
            self.error = error

    def _pass(self, number: int, scope: Scope, graph: Graph) -> None:
        side_by_side = self.given.side_by_side
        hooks = self.file.hooks
        done = run_pass(graph, self.database, scope, number=number, hooks=hooks, side_by_side=side_by_side, anew=True)
        answer = done.answers[self.file.code] if self.file.code else done.last
        self.ran = self.ran.model_copy(
            update={
                "passes": number + 1,
                "answer": answer,
                "answers": done.answers,
                "skipped": tuple(done.skipped),
                "database": self.database.values(),
            }
        )

    def _guard(self) -> None:
        if self.stop.is_set():
            raise EpisodeStopped

    def _print(self, kind: EventKind, body: Body) -> None:
        """Print a node when its answer is there; what its beginning says is kept until then."""
        if kind != "span":
            return
        span: Any = body
        self._begun[span["title"]] = node = {**self._begun.get(span["title"], {}), **span["data"]}
        if span["at"] in (SPAN_MOMENT, SPAN_END):
            ERRORS.print(_node_line(self._begun.pop(node["node"]), self.given.passes), soft_wrap=True)


def _figures(spent: Spent) -> dict[str, JsonValue]:
    return {
        "model_calls": spent.calls,
        "tokens": spent.tokens,
        "money": spent.money,
        "seconds": round(spent.seconds, 3),
    }


def _node_line(body: Any, passes: int) -> str:
    """Return a node and its answer as text, by its event."""
    where = f"pass {body['number'] + 1}, layer {body['layer'] + 1}" if passes > 1 else f"layer {body['layer'] + 1}"
    how = " (skipped: this stands)" if body["skipped"] else ""
    answer = harmless(value_text(body["answer"]))
    more = f"\n... {len(answer) - SHOWN:,} characters more" if len(answer) > SHOWN else ""
    return f"[{where}] {body['node']}{how}\n{indent(answer[:SHOWN] + more, '    ')}"
