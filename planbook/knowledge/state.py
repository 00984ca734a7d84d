"""The knowledge of a building run: after each episode, by group of tasks, and with changes undone by hand."""

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from planbook.config import SHIPPED_LIBRARY, Config, Learning
from planbook.errors import BadArgument
from planbook.manuals import Manual, Start, excerpt, read_knowledge, read_start, within
from planbook.planner import Body, JournalMismatch, Roles, Scope, UnusableReply
from planbook.rules import Citation, Form, History, Knowledge, Learned, RuleBook, count
from planbook.runs import Run, is_run
from planbook.store import RESTART, Watch, started_over
from planbook.wording import counted

RETRIEVAL = "retrieval"
ABLATIONS: Mapping[str, str] = {
    "rules": "no rules at all: the planner with its skill and reflection libraries",
    "libraries": "neither skills nor reflections",
    "online": "rules are built after all episodes have been played, not in between",
    "cases": "the Builder gets one prompt for every case",
    "classification": "the Builder is not asked whose fault an error was",
    "formulation": "the rules as a list, although there is a manual",
    "types": "rules without a type",
    "examples": "rules without an example",
    "logs": "rules without a validation log",
    "helpers": "no helper methods: neither as rules nor defined beforehand nor encouraged",
    RETRIEVAL: "every rule in the prompt, not only those that the task needs",
    "cooperation": "the Builder does not see the planner's thoughts, and the planner names no rules",
}


SKILL = "skill:"
SINGLE = re.compile(rf"rule_\d+|{SKILL}.+")
"""Matches the name of a rule, or of a task type's skill, which stands for the procedure made from it, too."""


def check_ablations(names: Iterable[str], *, building: bool = False) -> None:
    """Raise BadArgument for an unknown name; while ``building``, also for a single rule or skill."""
    single = [] if building else [name for name in names if SINGLE.fullmatch(name)]
    if unknown := sorted(set(names) - set(ABLATIONS) - set(single)):
        known = "\n".join(f"  {name}: {meaning}" for name, meaning in ABLATIONS.items())
        others = "" if building else " rule_N, skill:TYPE and"
        raise BadArgument(f"--without {unknown[0]}: there is no such part; there are{others}\n{known}")


def check_single(names: Iterable[str], known: Iterable[Knowledge]) -> None:
    """Raise BadArgument for a single rule or skill that does not exist."""
    existing = sorted({name for knowledge in known for name in single_parts(knowledge)})
    if unknown := sorted(name for name in set(names) - set(existing) if SINGLE.fullmatch(name)):
        raise BadArgument(f"--without {unknown[0]}: there is no such rule or skill; known: {', '.join(existing)}")


def single_parts(knowledge: Knowledge) -> list[str]:
    """Return the names of the rules and skills that can be left out one by one."""
    kinds = sorted({*knowledge.skills, *knowledge.procedures})
    return [*(rule.id for rule in knowledge.rules), *(f"{SKILL}{kind}" for kind in kinds)]


def without_single(knowledge: Knowledge, names: Collection[str]) -> Knowledge:
    """Return the knowledge without the named rules and skills; the manual loses only the rules.

    The procedure made from a skill is left out with it.
    """
    named = {name for name in names if SINGLE.fullmatch(name)} & set(single_parts(knowledge))
    if not named:
        return knowledge
    rules = tuple(rule for rule in knowledge.rules if rule.id not in named)
    kept: dict[str, Any] = {
        part: {kind: value for kind, value in getattr(knowledge, part).items() if f"{SKILL}{kind}" not in named}
        for part in ("skills", "procedures")
    }
    manual = excerpt(knowledge.manual, rules) if knowledge.manual and rules else ""
    return knowledge.model_copy(update={**kept, "rules": rules, "manual": manual})


def form_without(names: Iterable[str]) -> Form:
    """Return the form of rules without these parts."""
    left_out = set(names)
    return Form(
        types="types" not in left_out,
        examples="examples" not in left_out,
        logs="logs" not in left_out,
        helper_methods="helpers" not in left_out,
    )


SPOILT = "spoilt"
"""Key of the reason in the event of a failed step, which is then started over."""


def learn_once(run: Run, path: str, roles: Roles, make: Callable[[Scope], Body], watch: Watch | None = None) -> Any:
    """Return the ``learnt`` event of a step, made once by ``make``; ``watch`` is called with every new event.

    A step starts over, in ``PATH/restart/N``, if its record no longer fits, for example after an undo by hand; and on
    the next call if a reply was unusable. Raises UnusableReply, ModelError, BudgetEnded.
    """
    for attempt in _attempts(path):
        scope = Scope(run.journal(attempt, watch), attempt, roles)
        try:
            learned = scope.once("learnt", partial(make, scope))
        except JournalMismatch as mismatch:
            scope.journal.put(attempt, "learnt", 0, {SPOILT: str(mismatch)})
        except UnusableReply as unusable:
            scope.journal.put(attempt, "learnt", 0, {SPOILT: str(unusable)})
            raise
        else:
            if SPOILT not in learned:
                return learned
    raise AssertionError("there is always another attempt")


def learned_at(run: Run, path: str) -> Any:
    """Return the ``learnt`` event of a step, or None if it is not finished."""
    return next((row.body for row in run.store.events(path, "learnt") if SPOILT not in row.body), None)


def _attempts(path: str) -> Iterator[str]:
    yield path
    yield from (started_over(path, number) for number in itertools.count(1))


EVERYTHING = "all"
"""The group of all tasks, unless rules are kept for each type."""
LEARNED = re.compile(rf"learn/(\d+)({RESTART}\d+)?")


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


def group_of(learning: Learning, task_type: str) -> str:
    """Return the group of tasks that shares the rules of a type."""
    return task_type if learning.per_type else EVERYTHING


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


def _join_examples(known: str, starting: str) -> str:
    """Join the examples of the library and of the starts (appendix D), or return one if it contains the other."""
    if known.strip() in starting:
        return starting
    return known if starting.strip() in known else f"{known}\n{starting}"


def beginning_path(group: str) -> str:
    """Return the scope in which the initial knowledge of a group is recorded."""
    return f"beginning/{group}"


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
    if config.after is not None and config.after > (tasks := len(library.entries())):
        raise BadArgument(f"--after {config.after}: {library.folder} has {counted(tasks, 'building task')}")


def learned_in(run: Run, after: int | None = None) -> dict[str, KnowledgeState]:
    """Return the knowledge of a building run by group: at the end, or after a number of episodes.

    There is none before the run has recorded with what it begins.
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
    return states or {group: KnowledgeState.model_validate(state) for group, state in begun.items() if state}


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


def formulating_path(group: str, state: KnowledgeState) -> str:
    """Return the scope in which the present rules are formulated."""
    return f"formulate/{group}/{len(state.history.entries)}"
