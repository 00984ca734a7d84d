"""The knowledge of a building run: after each episode, by group of tasks, and with changes undone by hand."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

from planbook.config import SHIPPED_LIBRARY, Config
from planbook.errors import BadArgument
from planbook.knowledge.record import (
    EVERYTHING,
    LEARNED,
    SPOILT,
    beginning_path,
    formulating_path,
    group_of,
    learned_at,
)
from planbook.manuals import Manual, Start, read_knowledge, read_start, within
from planbook.rules import Citation, Form, History, Knowledge, Learned, RuleBook, count
from planbook.runs import Run, is_run
from planbook.wording import counted


class KnowledgeState(Learned):
    """The knowledge about a group of tasks after some episodes, and its history.

    ``streaks`` counts the successes in a row by task type; ``notes`` lists replies that learning could not use.
    ``procedures_at`` has, for each type with a procedure, the number of changes to the rules up to and including the
    episode that the procedure was learned from.
    """

    knowledge: Knowledge
    history: History
    citations: tuple[Citation, ...] = ()
    streaks: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    procedures_at: dict[str, int] = {}

    def with_positions_of_changed_procedures(self, before: "KnowledgeState") -> "KnowledgeState":
        """Return the state with ``procedures_at`` updated for types whose procedures differ from those ``before``."""
        old = before.knowledge.procedures
        changed = [kind for kind, procedure in self.knowledge.procedures.items() if procedure != old.get(kind)]
        at = {**self.procedures_at, **dict.fromkeys(changed, len(self.history.entries))}
        return self.model_copy(update={"procedures_at": at})

    def with_history(self, history: History) -> "KnowledgeState":
        """Return the state with the rules of a history. If a rule's check changed, its obedience is reset."""
        before, after = ({rule.id: rule.check for rule in book.active} for book in (self.history.book, history.book))
        edited = {id for id, check in after.items() if before.get(id, check) != check}
        citations = tuple(
            each.model_copy(update={"obeyed": {id: value for id, value in each.obeyed.items() if id not in edited}})
            for each in self.citations
        )
        knowledge = self.knowledge.model_copy(update={"rules": history.book.active})
        return self.model_copy(update={"history": history, "knowledge": knowledge, "citations": citations})


def fresh_beginning(config: Config, group: str) -> KnowledgeState:
    """Return the knowledge with which a building run would begin now: its library, or the starts that it names.

    Raises BadStart, BadRun, BadKnowledge, BadArgument.
    """
    assert config.learning is not None
    start = start_of(config, config.learning.start)
    knowledge = Knowledge(environment=config.environment.name, rules=start.rules, example=start.example)
    book = RuleBook.of(start.rules)
    if config.library != SHIPPED_LIBRARY:
        knowledge, book = _read_library(config, group)
        example = _join_examples(knowledge.example, start.example)
        knowledge = knowledge.model_copy(update={"example": example, "manual": ""})
    rules = () if "rules" in config.without else form_without(config.without).fitted(book.active)
    book = RuleBook(active=rules, next_number=book.next_number)
    return KnowledgeState(knowledge=knowledge.model_copy(update={"rules": rules}), history=History(initial=book))


def start_of(config: Config, names: Sequence[str]) -> Start:
    """Read the named starts, without helpers if the run leaves them out. Raises BadStart."""
    return read_start(config.environment.name, names, helpers="helpers" not in config.without)


def form_without(names: Iterable[str]) -> Form:
    """Return the form of rules without these parts."""
    left_out = set(names)
    return Form(
        types="types" not in left_out,
        examples="examples" not in left_out,
        logs="logs" not in left_out,
        helper_methods="helpers" not in left_out,
    )


def _join_examples(known: str, starting: str) -> str:
    """Join the examples of the library and of the starts (appendix D), or return one if it contains the other."""
    if known.strip() in starting:
        return starting
    return known if starting.strip() in known else f"{known}\n{starting}"


def _read_library(config: Config, group: str) -> tuple[Knowledge, RuleBook]:
    """Return the knowledge in the library, and its rule book, so that numbers of deleted rules are not reused."""
    folder = config.library_folder
    if not is_run(folder):
        knowledge = read_knowledge(folder, config.environment, config.environment_options)
        return knowledge, RuleBook.of(knowledge.rules)
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        states = learned_in(run)
        if (state := states.get(group) or states.get(EVERYTHING)) is None:
            raise BadArgument(f"{folder} knows nothing about {group}; it knows {', '.join(sorted(states))}")
        return state.knowledge, state.history.book


def check_environment(config: Config, library: Run) -> None:
    """Check that a run can be the library of another, after as many tasks as that asks for. Raises BadArgument."""
    if library.config.learning is None:
        raise BadArgument(
            f"{library.folder} is not a building run, and learned nothing; "
            "a library (--library) is a run of `planbook build`"
        )
    built_on = {entry.task.env for entry in library.entries()}  # its environment's code, maybe a stranger's, is not run
    if library.config.env != config.env and config.environment.name not in built_on:
        names = ", ".join(sorted(built_on))
        raise BadArgument(f"{library.folder} was built on {names}, not on {config.environment.name}")
    if not learned_in(library):
        raise BadArgument(
            f"{library.folder} has not begun to learn; resume it by `planbook build --resume {library.folder}`"
        )
    if config.after is not None and config.after > (tasks := len(library.entries())):
        raise BadArgument(f"--after {config.after}: {library.folder} has {counted(tasks, 'building task')}")


def learned_in(run: Run, after: int | None = None) -> dict[str, KnowledgeState]:
    """Return the knowledge of a building run by group: at the end, or after a number of episodes.

    A group that has not learned yet has the knowledge with which it begins, once the run has recorded that.
    """
    assert run.config.learning is not None
    types = {entry.index: entry.task.type for entry in run.entries()}
    states: dict[str, KnowledgeState] = {}
    undone = read_undone(run)
    rows: Iterable[Any] = run.store.events("learn", "learnt")
    for row in rows:
        match = LEARNED.fullmatch(row.scope)
        if match and SPOILT not in row.body and (after is None or int(match[1]) < after):
            group = group_of(run.config.learning, types[int(match[1])])
            states[group] = with_undone(KnowledgeState.model_validate(row.body), group, undone)
    groups = {group_of(run.config.learning, kind) for kind in types.values()}
    begun = {group: learned_at(run, beginning_path(group)) for group in sorted(groups)}
    return {group: KnowledgeState.model_validate(state) for group, state in begun.items() if state} | states


def read_undone(run: Run) -> dict[tuple[str, int], int]:
    """Return the first entry that each undo by hand undid, by the group and the number of entries at that time."""
    rows: Iterable[Any] = run.store.events("undo", "undo")
    return {(row.body["group"], row.body["after"]): row.body["entry"] for row in rows}


def with_undone(state: KnowledgeState, group: str, undone: Mapping[tuple[str, int], int]) -> KnowledgeState:
    """Return the state with the undos by hand that were made when the history was as long as it is now."""
    while (entry := undone.get((group, len(state.history.entries)))) is not None:
        state = state.with_history(state.history.undo(entry))
    return state


def with_manual(run: Run, group: str, state: KnowledgeState, tokens: int | None = None) -> Knowledge:
    """Return the group's knowledge, with its manual, cut to ``tokens``, if these rules were formulated."""
    recorded = learned_at(run, formulating_path(group, state))
    if recorded is None:
        return state.knowledge
    manual = Manual.model_validate(recorded["manual"])
    cited = {id: evidence.cited for id, evidence in count(state.citations).items()}
    return state.knowledge.model_copy(update={"manual": within(manual, state.knowledge.rules, tokens, cited)})
