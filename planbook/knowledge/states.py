"""The knowledge of a run of `planbook build` before its first episode, and after each of its episodes.

The run records the state of its knowledge after each episode. Users can undo changes to the rules. An
undo is recorded as an event. It does not change the recorded states, but is applied whenever a state is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from pydantic import Field

from planbook.config import SHIPPED_LIBRARY, Config
from planbook.errors import BadArgument
from planbook.knowledge.learning_events import ALL_TYPES, FAILURE_KEY, INITIAL_STATE, LEARNED, learned_event
from planbook.manuals import Manual, Start, read_knowledge, read_start, render
from planbook.planner import Conclusion, Text
from planbook.rules import RULES_PART, Citation, History, Knowledge, LearnedRecord, RuleBook, RuleForm
from planbook.runs import Run, is_run
from planbook.wording import counted


def formulating_scope(state: "KnowledgeState") -> str:
    """Return the scope in which writing a manual from the current rules is recorded."""
    return f"formulate/{ALL_TYPES}/{len(state.history.entries)}"


class WaitingEpisode(LearnedRecord):
    """An episode from which rules are built: at once, or later if the run builds them offline.

    ``index`` is the number of the episode, ``conclusion`` is the planner's, and ``failure`` describes how its procedure
    failed on another task, or is empty.
    """

    index: int
    conclusion: Conclusion
    failure: Text = ""


class KnowledgeState(LearnedRecord):
    """The knowledge after some of a run's episodes, and the history of its rules.

    ``streaks`` maps each task type to the number of its latest tasks that were solved in a row. ``notes`` describes
    replies of the Builder that could not be used. ``procedures_at`` maps each task type with a procedure to the length
    of the history after the episode from which the procedure was learned.
    """

    knowledge: Knowledge
    history: History
    citations: tuple[Citation, ...] = ()
    streaks: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    procedures_at: dict[str, int] = {}
    waiting: tuple[WaitingEpisode, ...] = Field(default=(), exclude_if=lambda waiting: not waiting)

    def with_positions_of_changed_procedures(self, previous: "KnowledgeState") -> "KnowledgeState":
        """Return the state with new ``procedures_at`` for types whose procedures differ from those in ``previous``."""
        old = previous.knowledge.procedures
        changed = [kind for kind, procedure in self.knowledge.procedures.items() if procedure != old.get(kind)]
        positions = {**self.procedures_at, **dict.fromkeys(changed, len(self.history.entries))}
        return self.model_copy(update={"procedures_at": positions})

    def with_history(self, history: History) -> "KnowledgeState":
        """Return the state with a new history, and with the rules at the end of that history.

        If the check of a rule has changed, the citations forget whether earlier episodes obeyed the rule.
        """
        before, after = ({rule.id: rule.check for rule in book.active} for book in (self.history.book, history.book))
        edited = {id for id, check in after.items() if before.get(id, check) != check}
        citations = tuple(
            citation.model_copy(update={"obeyed": {id: did for id, did in citation.obeyed.items() if id not in edited}})
            for citation in self.citations
        )
        knowledge = self.knowledge.model_copy(update={"rules": history.book.active})
        return self.model_copy(update={"history": history, "knowledge": knowledge, "citations": citations})


def initial_state(config: Config) -> KnowledgeState:
    """Return the knowledge with which a run of `planbook build` begins.

    By default, this is the starting knowledge (an example and its rules) that the run names. If the user has chosen a
    library, it is the library's current content, with the starting examples added to the library's example. Raises
    BadStart, BadRun, BadKnowledge or BadArgument if the knowledge cannot be read.
    """
    start = starting_knowledge(config, config.building.start)
    knowledge = Knowledge(environment=config.environment.name, rules=start.rules, example=start.example)
    book = RuleBook.from_rules(start.rules)
    if config.library != SHIPPED_LIBRARY:
        knowledge, book = _read_library(config)
        example = _with_new_examples(config, knowledge.example)
        knowledge = knowledge.model_copy(update={"example": example, "manual": ""})
    rules = () if "rules" in config.without else rule_form_without(config.without).apply_to(book.active)
    book = RuleBook(active=rules, next_number=book.next_number)
    return KnowledgeState(knowledge=knowledge.model_copy(update={"rules": rules}), history=History(initial=book))


def starting_knowledge(config: Config, names: Sequence[str]) -> Start:
    """Read the starting knowledge (rules and examples) with these names.

    If the run leaves out helper methods, the version for runs without helper methods is read. Raises BadStart if a file
    cannot be read.
    """
    return read_start(config.environment.name, names, helpers="helpers" not in config.without)


def rule_form_without(names: Iterable[str]) -> RuleForm:
    """Return the form of rules in a run that leaves out parts. ``names`` are values of ``--without``."""
    left_out = set(names)
    return RuleForm(
        types="types" not in left_out,
        examples="examples" not in left_out,
        logs="logs" not in left_out,
        helper_methods="helpers" not in left_out,
    )


def _with_new_examples(config: Config, library_example: str) -> str:
    """Add the run's starting examples to the library's example, unless it contains them already.

    The added examples name no rules, because the run has the library's rules (AutoManual, appendix D).
    """
    for name in config.building.start:
        example = RULES_PART.sub("", starting_knowledge(config, [name]).example)
        if example.strip() not in RULES_PART.sub("", library_example):
            library_example = f"{library_example}\n{example}" if library_example else example
    return library_example


def _read_library(config: Config) -> tuple[Knowledge, RuleBook]:
    """Return the knowledge in the library, and its rule book.

    If the library is a run, its rule book does not use the numbers of deleted rules again.
    """
    folder = config.library_folder
    if not is_run(folder):
        knowledge = read_knowledge(folder, config.environment, config.environment_options)
        return knowledge, RuleBook.from_rules(knowledge.rules)
    with closing(Run.open(folder)) as run:
        state = library_state(config, run)
        return state.knowledge, state.history.book


def library_state(config: Config, library: Run) -> KnowledgeState:
    """Return the state of knowledge in the run ``library`` that this configuration uses.

    Raises BadArgument if ``library`` is not a run of `planbook build`, has learned nothing yet, belongs to a different
    environment, or has fewer tasks than ``--after`` asks for.
    """
    check_learns(library, advice="; name another library with --library")
    # only names are compared: the code of the library's environment is not loaded, since it may be untrusted
    built_on = {entry.task.env for entry in library.entries()}
    if library.config.env != config.env and config.environment.name not in built_on:
        names = ", ".join(sorted(built_on))
        raise BadArgument(f"{library.folder} was built on {names}, not on {config.environment.name}")
    state = learned_state(library, config.after)
    if config.after is not None and config.after > (tasks := len(library.entries())):
        raise BadArgument(f"--after {config.after}: {library.folder} has only {counted(tasks, 'training task')}")
    return state


def check_learns(run: Run, advice: str = "") -> None:
    """Raise BadArgument if a run is not a run of `planbook build`. ``advice`` is added to the message."""
    if run.config.learning is None:
        raise BadArgument(f"{run.folder} is not a run of `planbook build`, so it has learned nothing{advice}")


def find_learned_state(run: Run, after: int | None = None) -> KnowledgeState | None:
    """Return the knowledge of a run of `planbook build` after its first ``after`` episodes, by default after all.

    Return None if the run has not begun to learn, or has separate rules for each task type (see ``per_type``). Raises
    BadArgument if the run is not a run of `planbook build`.
    """
    check_learns(run)
    if run.config.building.per_type:
        return None
    recorded: Any = learned_event(run, INITIAL_STATE)
    for row in run.store.events("learn", "learned"):
        match = LEARNED.fullmatch(row.scope)
        if match and FAILURE_KEY not in row.body and (after is None or int(match[1]) < after):
            recorded = row.body
    return with_undos(KnowledgeState.model_validate(recorded), read_undos(run)) if recorded else None


def learned_state(run: Run, after: int | None = None) -> KnowledgeState:
    """Like ``find_learned_state``, but raise BadArgument instead of returning None."""
    if (state := find_learned_state(run, after)) is None and run.config.building.per_type:
        separate = "has separate rules for each task type, made with --per-type by an earlier version of planbook"
        raise BadArgument(f"{run.folder} {separate}; build again without this option")
    if state is None:
        raise BadArgument(f"{run.folder} has not begun to learn; resume it with: planbook build --resume {run.folder}")
    return state


def library_knowledge(config: Config) -> Knowledge:
    """Return the knowledge in a run's library.

    Raises BadRun or BadKnowledge if the library cannot be read, or BadArgument if it cannot be used with this
    configuration.
    """
    folder = config.library_folder
    if not is_run(folder):
        return read_knowledge(folder, config.environment, config.environment_options)
    with closing(Run.open(folder)) as run:
        return with_manual(run, library_state(config, run))


def read_undos(run: Run) -> dict[int, int]:
    """Return the undos that users have made in a run.

    The dict maps the length of the history before an undo to the number of the first entry that was undone.
    """
    rows: Iterable[Any] = run.store.events("undo", "undo")
    return {row.body["after"]: row.body["entry"] for row in rows}


def with_undos(state: KnowledgeState, undos: Mapping[int, int]) -> KnowledgeState:
    """Return the state after the undos that were made when the history was as long as it is in this state.

    An undo makes the history one entry longer, so another undo may follow it.
    """
    while (entry := undos.get(len(state.history.entries))) is not None:
        state = state.with_history(state.history.undo(entry))
    return state


def with_manual(run: Run, state: KnowledgeState) -> Knowledge:
    """Return the knowledge of a state, with the manual written from its rules, if there is one."""
    recorded = learned_event(run, formulating_scope(state))
    if recorded is None:
        return state.knowledge
    manual = Manual.model_validate(recorded["manual"])
    return state.knowledge.model_copy(update={"manual": render(manual, state.knowledge.rules)})


def manual_is_outdated(run: Run, state: KnowledgeState) -> bool:
    """Return True if a manual was written, but not from the present rules."""
    current = formulating_scope(state)
    return learned_event(run, current) is None and learned_event(run, current.rpartition("/")[0]) is not None
