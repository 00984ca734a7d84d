"""Procedures of a building run: written after a success, and renewed when later episodes or rules say more."""

from collections.abc import Sequence
from dataclasses import dataclass

from planbook.envs import Task
from planbook.knowledge.state import State
from planbook.learning.verification import Verify, set_aside, verifier
from planbook.planner import Procedure, Scope, Trajectory
from planbook.rules import Verification, admit, generalise, rules_for, say_more
from planbook.run import Run
from planbook.workers.episode import Worker


@dataclass(frozen=True)
class ProcedureWriter:
    """Writes the procedures of a run, with its models and a sandbox; what it asks and tries is recorded in a scope."""

    run: Run
    scope: Scope
    worker: Worker

    def after_episode(self, state: State, played: Sequence[Trajectory]) -> tuple[State, str]:
        """Write a procedure after a success of a type without one, or where the type's procedure fails on the task.

        ``played`` are the episodes of the type, the latest last. Returns the state, and how a procedure failed on the
        way.
        """
        latest = played[-1]
        kind = latest.task.type
        there = state.knowledge.procedures.get(kind)
        if kind not in state.knowledge.skills or not (there or latest.ending.outcome.solved):
            return state, ""
        if there is None:
            return self._written(state, played)
        failed = [each for each in self._verifier([latest.task])(there) if not each.solved]
        return self._written(state, played, there, failed) if failed else (state, "")

    def renewed(self, state: State, played: Sequence[Trajectory]) -> State:
        """Write the procedure of a type anew if rules on the world or on errors were written since that fit the type.

        The new one is kept where it does all tasks of the type, in no more actions than the old one.
        """
        kind = played[-1].task.type
        there, since = state.knowledge.procedures.get(kind), state.procedures_at.get(kind, 0)
        more = say_more(state.history.entries[since:])
        if there is None or not more & _fitting(state, kind):
            return state
        did = self._verifier([each.task for each in played])(there)
        failed = [each for each in did if not each.solved]
        most = None if failed else sum(each.actions for each in did)
        return self._written(state, played, there, failed, most)[0]

    def _written(
        self,
        state: State,
        played: Sequence[Trajectory],
        there: Procedure | None = None,
        failed: Sequence[Verification] = (),
        most_actions: int | None = None,
    ) -> tuple[State, str]:
        config, kind = self.run.config, played[-1].task.type
        tasks = [each.task for each in played]
        generalised = generalise(
            self.scope,
            state.knowledge,
            kind,
            played,
            self._verifier([*tasks, *set_aside(self.run, kind)]),
            world=config.world,
            options=config.world_options,
            actions=config.actions,
            there=there,
            failed=failed,
        )
        better = most_actions is None or generalised.actions_on(len(tasks)) <= most_actions
        knowledge = admit(state.knowledge, generalised.procedure if better else None)
        return state.model_copy(update={"knowledge": knowledge}), generalised.elsewhere

    def _verifier(self, tasks: Sequence[Task]) -> Verify:
        return verifier(self.run, self.scope, self.worker, tasks)


def _fitting(state: State, kind: str) -> set[str]:
    """Return the ids of the rules that a planner would be told for tasks of a type."""
    skill = state.knowledge.skills[kind]
    return {rule.id for rule in rules_for(state.history.book, skill.task, skill)}
