"""Learn skills, reflections, procedures and rules from episodes, in order (AutoManual, section 3).

Learning from an episode is one step. Its result is recorded as the event ``learned`` in the scope ``learn/INDEX``,
where INDEX is the number of the episode. When a run that was stopped or killed continues, its finished steps are read
from these events. An unfinished step is done again, but the model calls and trials that it recorded are not repeated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from planbook.config import FOUND, Config
from planbook.envs import Task
from planbook.knowledge import (
    INITIAL_STATE,
    KnowledgeState,
    WaitingEpisode,
    initial_state,
    learn_once,
    learned_memory,
    learning_scope,
    read_undos,
    rule_form_without,
    with_undos,
)
from planbook.learning.finding import episode_with_found_type, find_type, with_found_type
from planbook.learning.procedures import ProcedureWriter
from planbook.planner import Body, Ending, Recall, Scope, Trajectory, conclude, read_trajectory, render_trajectory
from planbook.rules import (
    Blame,
    BuilderSettings,
    Citation,
    History,
    Knowledge,
    build_rules,
    check_problem,
    citations,
    consolidate,
    count_evidence,
    run_checks,
    useless_rules,
    with_conclusion,
)
from planbook.runs import EpisodeEntry, Run, last_scope
from planbook.store import OnEvent, without_restart
from planbook.workers import EpisodeWorker


class Learner:
    """Keeps the current knowledge of a run of `planbook build`, and extends it after each episode."""

    def __init__(self, run: Run, on_event: OnEvent | None = None) -> None:
        """Read or record the initial knowledge of the run. ``on_event`` is called with each new learning event."""
        self._run, self._config, self._undone, self._on_event = run, run.config, read_undos(run), on_event
        self._state = self._recorded_initial_state()

    def recall(self, task: Task) -> Recall:
        """Return the part of the current knowledge that a planner is shown for a task."""
        return learned_memory(self._config, self._state.knowledge).recall(task)

    def is_skipped(self, entry: EpisodeEntry) -> bool:
        """Return True if an episode can be skipped: the last ``solved_after`` tasks of its type were all solved."""
        task_type = with_found_type(self._config, self._state.knowledge, entry.task).type
        return self._state.streaks.get(task_type, 0) >= self._config.building.solved_after

    def learn(self, entry: EpisodeEntry, ending: Ending, worker: EpisodeWorker) -> None:
        """Learn from an episode that has ended, or read the recorded result of learning from it.

        Raises ModelError or BudgetEnded if a model cannot be asked, or EpisodeStopped if the run is stopped.
        """
        previous, is_last = self._state, entry == self._run.entries()[-1]

        def run_step(scope: Scope) -> Body:
            step = LearningStep(self._run, entry, scope, worker)
            state = step.after_episode(previous, ending).with_positions_of_changed_procedures(previous)
            if is_last:
                state = step.with_renewed_procedures(step.with_waiting_rules(state))
            return state.model_dump(mode="json")

        roles = worker.roles.seeded(self._config.seed)
        recorded = learn_once(self._run, learning_scope(entry), roles, run_step, self._on_event)
        self._state = with_undos(KnowledgeState.model_validate(recorded), self._undone)

    def _recorded_initial_state(self) -> KnowledgeState:
        """Return the initial knowledge. The first call records it, because the run's library may change later."""
        scope = Scope(self._run.journal(INITIAL_STATE), INITIAL_STATE)
        recorded = scope.get_or_record("learned", lambda: initial_state(self._config).model_dump(mode="json"))
        return KnowledgeState.model_validate(recorded)


@dataclass(frozen=True)
class LearningStep:
    """Learns from one episode. ``scope`` records the model calls, and the episodes in which procedures are tried.

    Each public method takes a state of knowledge, and returns the state extended by learning.
    """

    run: Run
    entry: EpisodeEntry
    scope: Scope
    worker: EpisodeWorker

    @property
    def _config(self) -> Config:
        return self.run.config

    def after_episode(self, state: KnowledgeState, ending: Ending) -> KnowledgeState:
        """Learn a skill or a reflection, a procedure, and (unless they are built offline) rules."""
        if not ending.outcome.played:
            return state
        config, learning = self._config, self._config.building
        trajectory = read_episode(self.run, self.entry)
        conclusion = conclude(
            self.scope.child("conclusion"),
            trajectory,
            config.environment,
            config.environment_options,
            always=learning.conclusions == "always",
            helpers="helpers" not in config.without,
        )
        knowledge = state.knowledge
        if config.types == FOUND:
            describe = "rules" not in config.without and not learning.libraries_only
            knowledge = find_type(self.scope, knowledge, trajectory, conclusion.code, describe=describe)
        trajectory = episode_with_found_type(config, knowledge, trajectory)
        task_type, knowledge = trajectory.task.type, with_conclusion(knowledge, trajectory, conclusion)
        streak = state.streaks.get(task_type, 0) + 1 if ending.outcome.solved else 0
        state = state.model_copy(update={"knowledge": knowledge, "streaks": {**state.streaks, task_type: streak}})
        failure = ""
        if learning.procedures:
            writer = ProcedureWriter(self.run, self.scope.child("procedure"), self.worker)
            state, failure = writer.after_episode(state, self._episodes_of_type(knowledge, task_type))
        episode = WaitingEpisode(index=self.entry.index, conclusion=conclusion, failure=failure)
        if "online" in config.without:
            return state.model_copy(update={"waiting": (*state.waiting, episode)})
        return self._with_rules(self.scope, state, episode)

    def with_waiting_rules(self, state: KnowledgeState) -> KnowledgeState:
        """Build rules from the waiting episodes (``--without online``), in order."""
        for episode in state.waiting:
            state = self._with_rules(self.scope.child(f"offline/{episode.index}"), state, episode)
        return state.model_copy(update={"waiting": ()})

    def with_renewed_procedures(self, state: KnowledgeState) -> KnowledgeState:
        """Rewrite each procedure that may benefit from rules learned after it was written."""
        for task_type in sorted(state.knowledge.procedures):
            if episodes := self._episodes_of_type(state.knowledge, task_type):
                state = ProcedureWriter(self.run, self.scope.child("renewal"), self.worker).renew(state, episodes)
        return state

    def _episodes_of_type(self, knowledge: Knowledge, task_type: str) -> list[Trajectory]:
        """Return the episodes of a type that have begun, up to and including this step's."""
        tasks = self._begun_tasks(self.entry.index)
        begun = [entry for entry, task in tasks if with_found_type(self._config, knowledge, task).type == task_type]
        return [episode_with_found_type(self._config, knowledge, read_episode(self.run, entry)) for entry in begun]

    def _begun_tasks(self, last_index: int) -> Iterator[tuple[EpisodeEntry, Task]]:
        """Yield the entries and tasks of the episodes up to ``last_index``, except skipped ones. All must have ended.

        The tasks are those recorded when the episodes began, since some goals become known only then.
        """
        for entry in self.run.entries()[: last_index + 1]:
            if event := next(iter(self.run.store.events(last_scope(self.run, entry), "task")), None):
                yield entry, Task.model_validate(event.body["task"])

    def _with_rules(self, scope: Scope, state: KnowledgeState, episode: WaitingEpisode) -> KnowledgeState:
        """Ask the Builder (the model that writes rules) for edits after an episode, and return the state with them.

        If this leaves too many rules, or a rule has become useless according to its check, the rules are consolidated.
        """
        recorded = read_episode(self.run, self.run.entries()[episode.index])
        trajectory = episode_with_found_type(self._config, state.knowledge, recorded)
        if "rules" in self._config.without or self._config.building.libraries_only:
            return state.model_copy(update={"citations": (*state.citations, _citation(trajectory, frozenset()))})
        settings, sandbox, rule_set = self._settings(episode.index), self.worker.sandbox, state.history.book
        obeyed = run_checks(sandbox, rule_set.active, trajectory)
        useless_before = useless_rules(count_evidence(state.citations))
        result = build_rules(
            scope.child("builder"), sandbox, rule_set, trajectory, episode.conclusion, settings, episode.failure
        )
        blamed = frozenset(citations(result.analysis)) if result.blame is Blame.IMPERFECT_AGENT else frozenset()
        notes = (*state.notes, f"{trajectory.path}: {result.note}") if result.note else state.notes
        citation = _citation(trajectory, blamed).model_copy(update={"obeyed": obeyed})
        state = state.model_copy(update={"notes": notes, "citations": (*state.citations, citation)})
        useless_now = useless_rules(count_evidence(state.citations)).keys() & {*result.book.ids}
        must_consolidate = bool(useless_now - useless_before.keys())
        if result.change is not None:
            state = state.with_history(state.history.record(result.change))
            must_consolidate = must_consolidate or len(result.book.active) > settings.max_rules
        return self._consolidate(scope, state, settings) if must_consolidate else state

    def _settings(self, index: int) -> BuilderSettings:
        """Return the settings for building rules after the episode with this index.

        Any check that the Builder writes is tried on all episodes so far.
        """
        config, learning, left_out = self._config, self._config.building, self._config.without
        begun = self._begun_tasks(index) if learning.checks else ()
        episodes = [read_episode(self.run, entry) for entry, _ in begun]
        return BuilderSettings(
            environment=config.environment,
            options=config.environment_options,
            max_rules=learning.max_rules,
            form=rule_form_without(left_out).model_copy(update={"checks": learning.checks}),
            cooperation="cooperation" not in left_out,
            cases="cases" not in left_out,
            classification="classification" not in left_out,
            try_check=(lambda text: check_problem(self.worker.sandbox, text, episodes)) if learning.checks else None,
        )

    def _consolidate(self, scope: Scope, state: KnowledgeState, settings: BuilderSettings) -> KnowledgeState:
        """Ask the Consolidator to merge and delete rules. With ``--paper``, it does not see the evidence for rules."""
        shows_evidence = settings.cooperation and not self._config.paper
        _, changes = consolidate(
            scope.child("consolidator"),
            self.worker.sandbox,
            state.history.book,
            count_evidence(state.citations) if shows_evidence else {},
            lambda ids: describe_episodes(self.run, ids, thoughts=settings.cooperation),
            settings,
        )
        return state.with_history(reduce(History.record, changes, state.history))


def read_episode(run: Run, entry: EpisodeEntry) -> Trajectory:
    """Return the last attempt at an episode. Raises LookupError if the episode has not begun."""
    path = last_scope(run, entry)
    return read_trajectory(path, run.store.events(path))


def describe_episodes(run: Run, ids: list[str], *, thoughts: bool = True) -> str:
    """Return episodes as text, for the Consolidator (the model that merges and deletes rules).

    With ``thoughts``, the text contains the planner's thoughts during the episode, and its conclusion after it.

    An id may also name a single attempt at an episode, such as ``task/3/restart/1``, because the logs of rules contain
    such ids. The text always describes the last attempt. Raises LookupError for an unknown id.
    """
    entries = {entry.path: entry for entry in run.entries()}
    named = {id: entries.get(without_restart(id)) for id in ids}
    if unknown := [id for id, entry in named.items() if entry is None]:
        raise LookupError(f"there is no episode {', '.join(unknown)}; ids are task/0, task/1 and so on")
    texts = (_describe(run, id, entry, thoughts=thoughts) for id, entry in named.items() if entry)
    return "\n\n".join(texts)


def _describe(run: Run, id: str, entry: EpisodeEntry, *, thoughts: bool) -> str:
    try:
        text = f"# The episode {id}\n\n{render_trajectory(read_episode(run, entry), thoughts=thoughts)}"
    except LookupError as error:
        raise LookupError(f"{id} has not been played yet") from error
    calls: Iterable[Any] = run.store.events(learning_scope(entry), "ask") if thoughts else ()
    replies = [event.body["reply"]["text"] for event in calls if "/conclusion/" in event.scope]
    return f"{text}\n\n## The agent's conclusion\n\n{replies[-1]}" if replies else text


def _citation(trajectory: Trajectory, blamed: frozenset[str]) -> Citation:
    cited = [id for round_ in trajectory.rounds for cell in round_.cells for id in cell.thought.rule_ids]
    return Citation(
        episode=trajectory.path,
        rule_ids=tuple(dict.fromkeys(cited)),
        solved=trajectory.ending.outcome.solved,
        ignored_rule_ids=blamed & frozenset(cited),
    )
