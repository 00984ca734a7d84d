"""Learning from episodes, one after the other: libraries, procedures and rules (AutoManual, section 3).

Each step is one event, ``learnt`` of the scope ``learn/INDEX``, so that a run that was stopped or killed takes up where
it was: a step that has its event is not done again, one that had begun repeats its recorded part.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from planbook.config import FOUND, Config
from planbook.envs import Task
from planbook.knowledge import (
    KnowledgeState,
    beginning_path,
    form_without,
    fresh_beginning,
    group_of,
    once,
    remembering,
    undone,
    with_undone,
)
from planbook.learning.finding import find_type, typed_episode, with_found_type
from planbook.learning.procedures import ProcedureWriter
from planbook.learning.tasks import learning_path
from planbook.planner import (
    Body,
    Conclusion,
    Ending,
    Recall,
    Scope,
    Trajectory,
    conclude,
    read_trajectory,
    tell_trajectory,
)
from planbook.rules import (
    Blame,
    BuilderSettings,
    Citation,
    Knowledge,
    build_rules,
    check_problem,
    citations,
    consolidate,
    count,
    learn,
    rules_obeyed,
    useless,
)
from planbook.runs import Entry, Run, index_of, last_path
from planbook.store import Watch, without_restart
from planbook.wording import UNPLAYED
from planbook.workers import EpisodeWorker


class Learner:
    """Holds the state of knowledge during a building run. Each step builds on the one before."""

    def __init__(self, run: Run, watch: Watch | None = None) -> None:
        """Start with what the run began with; ``watch`` is called with each new event of learning."""
        assert run.config.learning is not None
        self._run, self._config, self.learning = run, run.config, run.config.learning
        self._undone, self._watch = undone(run), watch
        self._entries, self._finds = run.entries(), run.config.types == FOUND
        groups = {group_of(self.learning, entry.task.type) for entry in self._entries}
        self._states = {group: self._begun(group) for group in sorted(groups)}

    def state(self, task_type: str) -> KnowledgeState:
        """Return what is known for tasks of a type."""
        return self._states[group_of(self.learning, task_type)]

    def recall(self, task: Task) -> Recall:
        """Return what is known about tasks like this one."""
        return remembering(self._config, self.state(task.type).knowledge).recall(task)

    def leaves_out(self, entry: Entry) -> bool:
        """Return whether an episode is skipped, because its type was solved often enough in a row."""
        state = self.state(entry.task.type)
        return state.streaks.get(self._type(state.knowledge, entry.task), 0) >= self.learning.solved_after

    def learn(self, entry: Entry, ending: Ending, worker: EpisodeWorker) -> None:
        """Learn from an ended episode. Raises ModelError, BudgetEnded, EpisodeStopped."""
        group, before = group_of(self.learning, entry.task.type), self.state(entry.task.type)

        def learnt(scope: Scope) -> Body:
            state = self._learn(scope, before, entry, ending, worker).with_procedures_of(before)
            state = self._renewed(scope, state, worker) if self._is_last(entry) else state
            return state.model_dump(mode="json")

        recorded = once(self._run, learning_path(entry), worker.roles.seeded(self._config.seed), learnt, self._watch)
        self._states[group] = with_undone(KnowledgeState.model_validate(recorded), group, self._undone)

    def _begun(self, group: str) -> KnowledgeState:
        """Return what a group began with; it is recorded, as the library that it comes from may change."""
        path = beginning_path(group)
        scope = Scope(self._run.journal(path), path)
        begun = scope.once("learnt", lambda: fresh_beginning(self._config, group).model_dump(mode="json"))
        return KnowledgeState.model_validate(begun)

    def _learn(
        self, scope: Scope, state: KnowledgeState, entry: Entry, ending: Ending, worker: EpisodeWorker
    ) -> KnowledgeState:
        if ending.outcome in UNPLAYED:
            return state
        config = self._config
        trajectory = read_trajectory(*episode_events(self._run, entry))
        always = self.learning.conclusions == "always"
        conclusion = conclude(scope.child("conclusion"), trajectory, config.world, config.world_options, always=always)
        knowledge = state.knowledge
        if self._finds:
            describes = "rules" not in config.without and not self.learning.libraries_only
            knowledge = find_type(scope, knowledge, trajectory, conclusion.code, describes=describes)
            trajectory = typed_episode(knowledge, trajectory)
        kind, knowledge = trajectory.task.type, learn(knowledge, trajectory, conclusion)
        streak = state.streaks.get(kind, 0) + 1 if ending.outcome.solved else 0
        state = state.model_copy(update={"knowledge": knowledge, "streaks": {**state.streaks, kind: streak}})
        elsewhere = ""
        if self.learning.procedures:
            writer = ProcedureWriter(self._run, scope.child("procedure"), worker)
            state, elsewhere = writer.after_episode(state, self._played(knowledge, kind, entry.index))
        return self._with_rules(scope, state, trajectory, conclusion, elsewhere, worker)

    def _renewed(self, scope: Scope, state: KnowledgeState, worker: EpisodeWorker) -> KnowledgeState:
        """Renew, type by type, the procedures that later rules may improve."""
        for kind in sorted(state.knowledge.procedures):
            if played := self._played(state.knowledge, kind):
                state = ProcedureWriter(self._run, scope.child("renewal"), worker).renewed(state, played)
        return state

    def _is_last(self, entry: Entry) -> bool:
        """Return whether the entry is the last of its group."""
        group = group_of(self.learning, entry.task.type)
        return not any(group_of(self.learning, each.task.type) == group for each in self._entries[entry.index + 1 :])

    def _played(self, knowledge: Knowledge, kind: str, last: int | None = None) -> list[Trajectory]:
        """Return the episodes of a type that had begun, up to an entry's index."""
        entries = [each for each in self._entries if last is None or each.index <= last]
        entries = [each for each in entries if self._type(knowledge, each.task) == kind]
        told = [(path, list(events)) for path, events in (episode_events(self._run, each) for each in entries)]
        episodes = [read_trajectory(path, rows) for path, rows in told if any(row.kind == "task" for row in rows)]
        return [typed_episode(knowledge, each) for each in episodes] if self._finds else episodes

    def _type(self, knowledge: Knowledge, task: Task) -> str:
        if not self._finds:
            return task.type
        return with_found_type(knowledge, task.model_copy(update=self._config.told(task))).type

    def _with_rules(
        self,
        scope: Scope,
        state: KnowledgeState,
        trajectory: Trajectory,
        conclusion: Conclusion,
        elsewhere: str,
        worker: EpisodeWorker,
    ) -> KnowledgeState:
        """Let the Builder and, if there are too many rules, the Consolidator work on an episode."""
        if "rules" in self._config.without or self.learning.libraries_only:
            return state.model_copy(update={"citations": (*state.citations, _citation(trajectory, frozenset()))})
        settings = self._settings(worker, trajectory)
        followed = rules_obeyed(worker.sandbox, state.history.book.active, trajectory)
        unhelpful = useless(count(state.citations))
        built = build_rules(
            scope.child("builder"), worker.sandbox, state.history.book, trajectory, conclusion, settings, elsewhere
        )
        blamed = frozenset(citations(built.analysis)) if built.blame is Blame.IMPERFECT_AGENT else frozenset()
        notes = (*state.notes, f"{trajectory.path}: {built.note}") if built.note else state.notes
        citation = _citation(trajectory, blamed).model_copy(update={"obeyed": followed})
        state = state.model_copy(update={"notes": notes, "citations": (*state.citations, citation)})
        now = useless(count(state.citations)).keys() & {*built.book.ids}
        if built.change is not None:
            state = state.with_history(state.history.record(built.change))
        elif not now - unhelpful.keys():
            return state
        crowded = len(built.book.active) > settings.max_rules or now - unhelpful.keys()
        return self._consolidated(scope, state, worker, settings) if crowded else state

    def _settings(self, worker: EpisodeWorker, latest: Trajectory) -> BuilderSettings:
        """Return the settings of rule building; checks of rules are tried on all episodes so far."""
        settings = builder_settings(self._config)
        if not self.learning.checks:
            return settings
        before = [each for each in self._entries if each.index <= index_of(latest.path)]
        stored = [(path, list(events)) for path, events in (episode_events(self._run, each) for each in before)]
        episodes = [read_trajectory(path, rows) for path, rows in stored if any(row.kind == "task" for row in rows)]
        return replace(settings, verify=lambda text: check_problem(worker.sandbox, text, episodes))

    def _consolidated(
        self, scope: Scope, state: KnowledgeState, worker: EpisodeWorker, settings: BuilderSettings
    ) -> KnowledgeState:
        _, changes = consolidate(
            scope.child("consolidator"),
            worker.sandbox,
            state.history.book,
            count(state.citations),
            lambda ids: told_episodes(self._run, ids),
            settings,
        )
        history = state.history
        for change in changes:
            history = history.record(change)
        return state.with_history(history)


def builder_settings(config: Config) -> BuilderSettings:
    """Return the settings of rule building in a run."""
    assert config.learning is not None
    left_out = set(config.without)
    return BuilderSettings(
        world=config.world,
        options=config.world_options,
        max_rules=config.learning.max_rules,
        form=form_without(left_out).model_copy(update={"checks": config.learning.checks}),
        cooperation="cooperation" not in left_out,
        cases="cases" not in left_out,
        classification="classification" not in left_out,
    )


def episode_events(run: Run, entry: Entry) -> tuple[str, Iterable[Any]]:
    """Return the scope of an episode's last start, and its events."""
    path = last_path(run, entry)
    return path, run.store.events(path)


def told_episodes(run: Run, ids: list[str]) -> str:
    """Return episodes as the Consolidator sees them, by their last start. Raises LookupError for an unknown id.

    The logs of rules name an episode that was started over by the scope that it ended in: ``task/3/restart/1``.
    """
    entries = {entry.path: entry for entry in run.entries()}
    named = {id: entries.get(without_restart(id)) for id in ids}
    if unknown := [id for id, entry in named.items() if entry is None]:
        raise LookupError(f"there is no episode {', '.join(unknown)}; ids read task/0, task/1 and so on")
    return "\n\n".join(f"# The episode {id}\n\n{_told(run, id, entry)}" for id, entry in named.items() if entry)


def _told(run: Run, id: str, entry: Entry) -> str:
    try:
        return tell_trajectory(read_trajectory(*episode_events(run, entry)))
    except LookupError as error:
        raise LookupError(f"{id} has not been played yet") from error


def _citation(trajectory: Trajectory, blamed: frozenset[str]) -> Citation:
    cited = [id for each in trajectory.rounds for cell in each.cells for id in cell.thought.rule_ids]
    return Citation(
        episode=trajectory.path,
        rule_ids=tuple(dict.fromkeys(cited)),
        solved=trajectory.ending.outcome.solved,
        blamed_agent=blamed & frozenset(cited),
    )
