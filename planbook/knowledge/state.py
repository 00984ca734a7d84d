"""The knowledge of a building run: after each episode, by group of tasks, and with what was undone by hand."""

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
"""A single rule, or all that is shown or run because of a success of a task type."""


def check_ablations(names: Iterable[str], *, building: bool = False) -> None:
    """Raise BadArgument for a name that is none; while ``building``, for a single rule or skill too."""
    single = [] if building else [name for name in names if SINGLE.fullmatch(name)]
    if unknown := sorted(set(names) - set(ABLATIONS) - set(single)):
        known = "\n".join(f"  {name}: {meaning}" for name, meaning in ABLATIONS.items())
        single_ones = "" if building else " rule_N, skill:TYPE and"
        raise BadArgument(f"--without {unknown[0]}: there is no such part; there are{single_ones}\n{known}")


def check_single(names: Iterable[str], known: Iterable[Knowledge]) -> None:
    """Raise BadArgument for a single rule or skill that nothing is known of."""
    there = sorted({name for knowledge in known for name in single_parts(knowledge)})
    if unknown := sorted(name for name in set(names) - set(there) if SINGLE.fullmatch(name)):
        raise BadArgument(f"--without {unknown[0]}: nothing of that name is known; there are {', '.join(there)}")


def single_parts(knowledge: Knowledge) -> list[str]:
    """Return the names of the rules and skills that can be left out one by one."""
    kinds = sorted({*knowledge.skills, *knowledge.procedures})
    return [*(rule.id for rule in knowledge.rules), *(f"{SKILL}{kind}" for kind in kinds)]


def without_single(knowledge: Knowledge, names: Collection[str]) -> Knowledge:
    """Return the knowledge without the single rules and skills that are named; the manual loses their rules alone.

    Without a skill goes the procedure that was made of it.
    """
    named = {name for name in names if SINGLE.fullmatch(name)} & set(single_parts(knowledge))
    if not named:
        return knowledge
    rules = tuple(rule for rule in knowledge.rules if rule.id not in named)
    left: dict[str, Any] = {
        part: {kind: each for kind, each in getattr(knowledge, part).items() if f"{SKILL}{kind}" not in named}
        for part in ("skills", "procedures")
    }
    manual = excerpt(knowledge.manual, rules) if knowledge.manual and rules else ""
    return knowledge.model_copy(update={**left, "rules": rules, "manual": manual})


def form_without(names: Iterable[str]) -> Form:
    """Return the attributes that rules have without these parts."""
    left_out = set(names)
    return Form(
        types="types" not in left_out,
        examples="examples" not in left_out,
        logs="logs" not in left_out,
        helper_methods="helpers" not in left_out,
    )


SPOILT = "spoilt"
"""Key of the event of a step that failed, with the reason; the step was started over."""


def once(run: Run, path: str, roles: Roles, make: Callable[[Scope], Body], watch: Watch | None = None) -> Any:
    """Return the ``learnt`` event of a step, made the first time; ``watch`` is called with every new event.

    What was recorded of a step under way may answer questions that are asked no more, such as after an undo by hand,
    and replies that could not be used are not worth repeating. The step then begins anew, in ``PATH/restart/N``.
    Raises UnusableReply, ModelError, BudgetEnded.
    """
    for place in _places(path):
        scope = Scope(run.journal(place, watch), place, roles)
        try:
            learned = scope.once("learnt", partial(make, scope))
        except JournalMismatch as mismatch:
            scope.journal.put(place, "learnt", 0, {SPOILT: str(mismatch)})
        except UnusableReply as unusable:
            scope.journal.put(place, "learnt", 0, {SPOILT: str(unusable)})
            raise
        else:
            if SPOILT not in learned:
                return learned
    raise AssertionError("there is always another place")


def already(run: Run, path: str) -> Any:
    """Return what was learned at a step that is done, else None."""
    return next((row.body for row in run.store.events(path, "learnt") if SPOILT not in row.body), None)


def _places(path: str) -> Iterator[str]:
    yield path
    yield from (started_over(path, number) for number in itertools.count(1))


EVERYTHING = "all"
"""The group of all tasks, unless rules are kept for each type."""
LEARNED = re.compile(rf"learn/(\d+)({RESTART}\d+)?")


class KnowledgeState(Learned):
    """The knowledge in a group of tasks after some episodes, and its history.

    ``streaks`` counts the successes in a row of each task type; ``notes`` says what learning could not use.
    ``procedures_at`` says for each type with a procedure how many changes the rules had seen at the end of the episode
    that led to it.
    """

    knowledge: Knowledge
    history: History
    citations: tuple[Citation, ...] = ()
    streaks: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    procedures_at: dict[str, int] = {}

    def with_procedures_of(self, before: "KnowledgeState") -> "KnowledgeState":
        """Return the state, with the present position in the history for types whose procedures have changed."""
        new = {
            kind for kind, each in self.knowledge.procedures.items() if each != before.knowledge.procedures.get(kind)
        }
        at = {**self.procedures_at, **dict.fromkeys(new, len(self.history.entries))}
        return self.model_copy(update={"procedures_at": at})

    def with_history(self, history: History) -> "KnowledgeState":
        """Return the state with other rules. Whether a rule is obeyed is counted anew if its check is another."""
        before, after = ({rule.id: rule.check for rule in book.active} for book in (self.history.book, history.book))
        edited = {id for id, check in after.items() if before.get(id, check) != check}
        citations = tuple(
            each.model_copy(update={"obeyed": {id: done for id, done in each.obeyed.items() if id not in edited}})
            for each in self.citations
        )
        knowledge = self.knowledge.model_copy(update={"rules": history.book.active})
        return self.model_copy(update={"history": history, "knowledge": knowledge, "citations": citations})


def group_of(learning: Learning, task_type: str) -> str:
    """Return the group of tasks that a type shares its rules with."""
    return task_type if learning.per_type else EVERYTHING


def beginning(run: Run, group: str) -> KnowledgeState:
    """Return what a run knew before its first episode: the record, else what it would begin with now."""
    recorded = already(run, beginning_path(group))
    return KnowledgeState.model_validate(recorded) if recorded else fresh_beginning(run.config, group)


def fresh_beginning(config: Config, group: str) -> KnowledgeState:
    """Return what a building run would begin with now: its library, else the starts that it names.

    Raises BadStart, BadRun, BadKnowledge, BadArgument.
    """
    assert config.learning is not None
    start = start_of(config, config.learning.start)
    knowledge = Knowledge(environment=config.environment.name, rules=start.rules, example=start.example)
    book = RuleBook.of(start.rules)
    if config.library != SHIPPED_LIBRARY:
        knowledge, book = _of_library(config, group)
        examples = _joined(knowledge.example, start.example)
        knowledge = knowledge.model_copy(update={"example": examples, "manual": ""})
    rules = () if "rules" in config.without else form_without(config.without).fitted(book.active)
    book = RuleBook(active=rules, next_number=book.next_number)
    return KnowledgeState(knowledge=knowledge.model_copy(update={"rules": rules}), history=History(initial=book))


def start_of(config: Config, names: Sequence[str]) -> Start:
    """Read the starts of these names as a run may show them. Raises BadStart."""
    return read_start(config.environment.name, names, helpers="helpers" not in config.without)


def _joined(known: str, starting: str) -> str:
    """Return what the library's planner was shown and what the starts show, each once (appendix D, 53 types)."""
    if known.strip() in starting:
        return starting
    return known if starting.strip() in known else f"{known}\n{starting}"


def beginning_path(group: str) -> str:
    """Return the scope in which the beginning is recorded."""
    return f"beginning/{group}"


def _of_library(config: Config, group: str) -> tuple[Knowledge, RuleBook]:
    """Return the knowledge of an earlier building run or a folder; numbers of deleted rules are not used again."""
    folder = config.library_folder
    if not is_run(folder):
        knowledge = read_knowledge(folder, config.environment, config.environment_options)
        return knowledge, RuleBook.of(knowledge.rules)
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        states = learned_in(run)
        if (state := states.get(group) or states.get(EVERYTHING)) is None:
            raise BadArgument(f"{folder} knows nothing of {group}; it knows {', '.join(sorted(states))}")
        return state.knowledge, state.history.book


def check_environment(config: Config, library: Run) -> None:
    """Check that a run can be a library for another. Raises BadArgument."""
    if library.config.learning is None:
        raise BadArgument(
            f"{library.folder} is not a building run, and learned nothing; "
            "a library (--library) is a run of `planbook build`"
        )
    if library.config.environment.name != config.environment.name:
        raise BadArgument(
            f"{library.folder} was built on {library.config.environment.name}, not on {config.environment.name}"
        )


def learned_in(run: Run, after: int | None = None) -> dict[str, KnowledgeState]:
    """Return the knowledge of a building run, by group: in the end, or after a number of episodes."""
    assert run.config.learning is not None
    tasks = {entry.index: entry.task.type for entry in run.entries()}
    states: dict[str, KnowledgeState] = {}
    taken_back = undone(run)
    rows: Iterable[Any] = run.store.events("learn", "learnt")
    for row in rows:
        match = LEARNED.fullmatch(row.scope)
        if match and SPOILT not in row.body and (after is None or int(match[1]) < after):
            group = group_of(run.config.learning, tasks[int(match[1])])
            states[group] = with_undone(KnowledgeState.model_validate(row.body), group, taken_back)
    groups = {group_of(run.config.learning, kind) for kind in tasks.values()}
    return states or {group: beginning(run, group) for group in sorted(groups)}


def undone(run: Run) -> dict[tuple[str, int], int]:
    """Return what was undone by hand: the entry to go back before, by group and number of entries at the time."""
    rows: Iterable[Any] = run.store.events("undo", "undo")
    return {(row.body["group"], row.body["after"]): row.body["entry"] for row in rows}


def with_undone(state: KnowledgeState, group: str, undone: Mapping[tuple[str, int], int]) -> KnowledgeState:
    """Return the state after what was undone by hand at this point."""
    while (entry := undone.get((group, len(state.history.entries)))) is not None:
        state = state.with_history(state.history.undo(entry))
    return state


def with_manual(run: Run, group: str, state: KnowledgeState, tokens: int | None = None) -> Knowledge:
    """Return the group's knowledge, with its manual if these rules were formulated."""
    recorded = already(run, formulating_path(group, state))
    if recorded is None:
        return state.knowledge
    manual = Manual.model_validate(recorded["manual"])
    cited = {id: evidence.cited for id, evidence in count(state.citations).items()}
    return state.knowledge.model_copy(update={"manual": within(manual, state.knowledge.rules, tokens, cited)})


def formulating_path(group: str, state: KnowledgeState) -> str:
    """Return the scope in which the present rules are formulated."""
    return f"formulate/{group}/{len(state.history.entries)}"
