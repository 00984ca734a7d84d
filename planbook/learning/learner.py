"""Learning from episodes, one after the other: libraries, procedures and rules (AutoManual, section 3).

What was learnt from an episode is one event, ``learnt`` of the scope ``learn/INDEX``, so that a run that was stopped or
killed takes up where it was: a step that has its event is not done again, one that had begun repeats its recorded part.
"""

from collections.abc import Iterable
from typing import Any

from envs import Task
from planbook.config import Config
from planbook.lanes import Lane
from planbook.learning.ablations import form_without
from planbook.learning.once import once
from planbook.learning.state import State, beginning_path, fresh_beginning, group_of, undone, with_undone
from planbook.learning.verification import verifier
from planbook.run import Entry, Run
from planbook.runner import last_path
from planbook.store import Watch
from planner import Body, Ending, Outcome, Recall, Scope, Trajectory, conclude, read_trajectory, tell_trajectory
from rules import (
    Citation,
    LearntMemory,
    Terms,
    admit,
    build_rules,
    citations,
    consolidate,
    count,
    generalise,
    learn,
)


class Learner:
    """Holds what is known while a run goes on. One episode at a time: each step builds on the one before."""

    def __init__(self, run: Run, watch: Watch | None = None) -> None:
        """Begin with what the run began with; ``watch`` is told of each new event of learning."""
        assert run.config.learning is not None
        self._run, self._config, self.learning = run, run.config, run.config.learning
        self._states: dict[str, State] = {}
        self._undone, self._watch = undone(run), watch
        self._entries = run.entries()

    def state(self, task_type: str) -> State:
        """What is known for tasks of a type."""
        group = group_of(self.learning, task_type)
        if group not in self._states:
            scope = Scope(self._run.journal(beginning_path(group)), beginning_path(group))
            begun = scope.once("learnt", lambda: fresh_beginning(self._config, group).model_dump(mode="json"))
            self._states[group] = State.model_validate(begun)
        return self._states[group]

    def recall(self, task: Task) -> Recall:
        """What is known about tasks like this one."""
        config = self._config
        knowledge = self.state(task.type).knowledge
        return LearntMemory(knowledge, config.world, config.world_options, without=config.without).recall(task)

    def leaves_out(self, entry: Entry) -> bool:
        """Whether the episode is left out, because its type was solved often enough in a row."""
        kind = entry.task.type
        return self.state(kind).streaks.get(kind, 0) >= self.learning.solved_after

    def learn(self, entry: Entry, ending: Ending, lane: Lane) -> None:
        """Learn from an episode that is over. Raises ModelError, BudgetEnded, EpisodeStopped."""
        group, before = group_of(self.learning, entry.task.type), self.state(entry.task.type)

        def learnt(scope: Scope) -> Body:
            return self._learn(scope, before, entry, ending, lane).model_dump(mode="json")

        recorded = once(self._run, learning_path(entry), lane.roles.seeded(self._config.seed), learnt, self._watch)
        self._states[group] = with_undone(State.model_validate(recorded), group, self._undone)

    def _learn(self, scope: Scope, state: State, entry: Entry, ending: Ending, lane: Lane) -> State:
        kind = entry.task.type
        if ending.outcome in (Outcome.BROKEN, Outcome.NOT_RUN):
            return state
        trajectory = read_trajectory(*episode_events(self._run, entry))
        config, left_out = self._config, set(self._config.without)
        conclusion = conclude(scope.child("conclusion"), trajectory, config.world, config.world_options)
        knowledge = learn(state.knowledge, trajectory, conclusion)
        streak = state.streaks.get(kind, 0) + 1 if ending.outcome.solved else 0
        state = state.model_copy(update={"knowledge": knowledge, "streaks": {**state.streaks, kind: streak}})
        elsewhere = ""
        if self.learning.procedures and kind in knowledge.skills and ending.outcome.solved:
            state, elsewhere = self._with_procedure(scope, state, entry, lane)
        blamed: frozenset[str] = frozenset()
        if "rules" not in left_out and not self.learning.libraries_only:
            terms = terms_of(config)
            built = build_rules(
                scope.child("builder"), lane.sandbox, state.history.book, trajectory, conclusion, terms, elsewhere
            )
            blamed = frozenset(citations(built.analysis)) if built.blame == "Imperfect Agent" else frozenset()
            history = state.history.record(built.change) if built.change else state.history
            notes = (*state.notes, f"{entry.path}: {built.note}") if built.note else state.notes
            state = state.with_history(history).model_copy(update={"notes": notes})
        state = state.model_copy(update={"citations": (*state.citations, _citation(trajectory, blamed))})
        return self._consolidated(scope, state, lane)

    def _with_procedure(self, scope: Scope, state: State, entry: Entry, lane: Lane) -> tuple[State, str]:
        """Generalise the newest skill, unless its type has a verified procedure; and how that failed on the way."""
        kind, config = entry.task.type, self._config
        if kind in state.knowledge.procedures:
            return state, ""
        tasks = [each.task for each in self._entries if each.task.type == kind]
        child = scope.child("procedure")
        generalised = generalise(
            child,
            state.knowledge,
            kind,
            self._played(entry),
            verifier(self._run, child, lane, kind, tasks),
            world=config.world,
            options=config.world_options,
            actions=config.actions,
        )
        knowledge = admit(state.knowledge, generalised.procedure)
        return state.model_copy(update={"knowledge": knowledge}), generalised.elsewhere

    def _played(self, last: Entry) -> list[Trajectory]:
        """The episodes of an entry's type, up to that entry."""
        entries = [each for each in self._entries[: last.index + 1] if each.task.type == last.task.type]
        played = [read_trajectory(*episode_events(self._run, each)) for each in entries if self._has_begun(each)]
        return [trajectory for trajectory in played if trajectory.rounds]

    def _has_begun(self, entry: Entry) -> bool:
        return any(row.scope != entry.path for row in self._run.store.events(entry.path))

    def _consolidated(self, scope: Scope, state: State, lane: Lane) -> State:
        terms = terms_of(self._config)
        if len(state.history.book.active) <= terms.max_rules:
            return state
        _, changes = consolidate(
            scope.child("consolidator"),
            lane.sandbox,
            state.history.book,
            {id: str(evidence) for id, evidence in count(state.citations).items()},
            lambda ids: told_episodes(self._run, ids),
            terms,
        )
        history = state.history
        for change in changes:
            history = history.record(change)
        return state.with_history(history)


def terms_of(config: Config) -> Terms:
    """How the rules of a run are managed."""
    assert config.learning is not None
    left_out = set(config.without)
    return Terms(
        world=config.world,
        options=config.world_options,
        max_rules=config.learning.max_rules,
        form=form_without(left_out),
        cooperation="cooperation" not in left_out,
        cases="cases" not in left_out,
        classification="classification" not in left_out,
    )


def learning_path(entry: Entry) -> str:
    """The scope of what is learnt from an episode."""
    return f"learn/{entry.index}"


def episode_events(run: Run, entry: Entry) -> tuple[str, Iterable[Any]]:
    """The scope of an episode as it was last started over, and its events."""
    path = last_path(run, entry)
    return path, run.store.events(path)


def told_episodes(run: Run, ids: list[str]) -> str:
    """Episodes as the Consolidator sees them: as they were last started over. Raises LookupError for an id of none.

    The logs of rules name an episode that was started over by the scope that it ended in: ``task/3/restart/1``.
    """
    entries = {entry.path: entry for entry in run.entries()}
    named = {id: entries.get(id.partition("/restart/")[0]) for id in ids}
    if unknown := [id for id, entry in named.items() if entry is None]:
        raise LookupError(f"there is no episode {', '.join(unknown)}; ids read task/0, task/1 and so on")
    told = [(id, tell_trajectory(read_trajectory(*episode_events(run, entry)))) for id, entry in named.items() if entry]
    return "\n\n".join(f"# The episode {id}\n\n{text}" for id, text in told)


def _citation(trajectory: Trajectory, blamed: frozenset[str]) -> Citation:
    cited = [id for each in trajectory.rounds for cell in each.cells for id in cell.thought.rule_ids]
    return Citation(
        episode=trajectory.path,
        rule_ids=tuple(dict.fromkeys(cited)),
        solved=trajectory.ending.outcome.solved,
        blamed_agent=blamed & frozenset(cited),
    )
