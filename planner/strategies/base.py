"""The base of planning methods: ``Method``, its options, ``play``, and helpers that several methods share.

A planning method calls the methods of ``Episode``: it asks models for plan code, and runs this code.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictInt, ValidationError

from planbook.envs import Environment, MissingRequirement
from planbook.planner.agent import action_docs_of
from planbook.planner.episode import Episode
from planbook.planner.errors import (
    EpisodeBroken,
    EpisodeOver,
    ModelError,
    NoPlan,
    RoundOver,
    UnusableReply,
    environment_fault,
)
from planbook.planner.journal import Payload
from planbook.planner.memory import Match, MatchCandidate, Recall
from planbook.planner.models.types import Message
from planbook.planner.prompts import PROMPTS, Prompt
from planbook.planner.replies import as_json
from planbook.planner.roles import FIRST_SAMPLE, Sample
from planbook.planner.scope import Scope
from planbook.planner.strategies.figures import Figures
from planbook.planner.types import Ending, broken_ending
from planbook.sandbox import SandboxClosed, WorkerFailed

Read = TypeVar("Read")
Default = TypeVar("Default")


class Strategy(Protocol):
    """A function that plays one episode.

    The function returns when it gives up. If the episode ends earlier, the methods of ``Episode`` raise EpisodeOver,
    which a strategy must not suppress. The return value is not used.
    """

    def __call__(self, episode: Episode, options: Any, /) -> object:
        """Play until the episode ends or the method gives up. ``options`` is an instance of ``Method.options``."""


def play(episode: Episode, strategy: Strategy, options: BaseModel) -> Ending:
    """Play an episode with a method, write its ending to the journal, and return the ending.

    If the environment, the method or the engine fails, the outcome is BROKEN. The following errors are raised instead,
    and leave the episode without an ending: EpisodeStopped, BudgetEnded, JournalMismatch, JournalFailed, and the errors
    that say that a resource is missing or failed (MissingRequirement, SandboxClosed, WorkerFailed, ModelError).
    """
    problem = ""
    try:
        try:
            episode.begin()
            strategy(episode, options)
        except NoPlan as no_plan:
            problem = str(no_plan)
        except EpisodeOver:
            pass
        ending = episode.ending(problem)
    except (MissingRequirement, SandboxClosed, WorkerFailed, ModelError):
        raise
    except EpisodeBroken as broken:
        ending = broken_ending(str(broken), episode.feedbacks, episode.actions)
    except (Exception, SystemExit) as error:
        message = _error_message(error, strategy, episode.environment)
        ending = broken_ending(message, episode.feedbacks, episode.actions)
    finally:
        episode.close()
    episode.write_ending(ending)
    return ending


def _error_message(error: Exception | SystemExit, strategy: Strategy, environment: Environment) -> str:
    """Return a message that blames the environment if one of its methods raised the error, otherwise the planner."""
    trace = error.__traceback__
    while trace and not _is_method_of(environment, trace.tb_frame.f_locals):
        trace = trace.tb_next
    if trace:
        return environment_fault(error.with_traceback(trace))
    line = _error_line(error, strategy)
    return f"the planner raised {type(error).__name__}: {error}{line and f' ({line})'}"


def _is_method_of(environment: Environment, variables: Mapping[str, Any]) -> bool:
    return variables.get("self") is environment or variables.get("cls") is type(environment)


def _error_line(error: BaseException, strategy: Strategy) -> str:
    """Return FILE:LINE for the last line of the traceback that is in the method's file, or "" if there is none."""
    file = getattr(getattr(strategy, "__code__", None), "co_filename", None)
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f"{Path(file).name}:{lines[-1]}" if file and lines else ""


IsAsked = Callable[[Any, Environment], bool]
"""Takes a method's options and the environment. Returns True if the role is asked."""


class Options(BaseModel):
    """Base class for the options of a method. A method without options uses this class itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    default_actions: ClassVar[int | None] = None
    """Default number of actions in an episode. If None, the environment's default applies."""
    default_sampling: ClassVar[Mapping[str, JsonValue]] = {}
    """Default sampling settings (such as ``temperature``) that differ from the general defaults."""

    def wanted_demonstrations(self, demonstrations: Sequence[str]) -> Sequence[str]:
        """Return the names of the method's demonstrations that are needed with these options."""
        return demonstrations

    def effective_values(self, environment: str) -> dict[str, JsonValue]:
        """Map each option to its effective value. The value of an unset option may depend on the environment."""
        return self.model_dump(mode="json")

    def prompt_sources(self, environment: str) -> Mapping[str, str]:
        """Return the texts other than templates that are used to make prompts, such as a graph file or its hooks' code.

        The result maps a description of each text to the text. A run records the digests of the texts.
        """
        return {}

    def stored_texts(self) -> Mapping[Path, str]:
        """Map each file whose text is stored in the options to this text. A resumed run uses the text, not the file."""
        return {}


@dataclass(frozen=True)
class Method:
    """A planning method: the function that plays, its options, and the facts that the rest of planbook needs."""

    play: Strategy
    options: type[Options]
    summary: str
    roles: tuple[str, ...] = ()
    """The roles that the method asks. A role is a name for a model, such as ``planner``."""
    demonstrations: tuple[str, ...] = ()
    """Names of the demonstrations that the method shows to models (``Recall.demonstrations``)."""
    conditional_roles: Mapping[str, IsAsked] = field(default_factory=dict)
    """For each role that is asked only under certain conditions, the function that checks these conditions."""
    fallback_demonstrations: tuple[str, ...] = ()
    """Names of the demonstrations that are shown only if another one is missing."""
    roles_from_options: Callable[[Any, str], Collection[str]] = lambda options, environment: ()
    """Takes the options and the environment's name. Returns the additional roles that the options name."""
    spans: tuple[type[Payload], ...] = ()
    """The payload classes of the spans that the method records."""
    figures: tuple[type[Figures], ...] = ()
    """The classes that compute the method's statistics of a run."""
    streams: bool = False
    """True if the method asks for plans with ``Episode.stream``, so that plans can run while the model writes them."""
    templates: Mapping[str, Path] = field(default_factory=dict)
    """Maps the relative path of each prompt file to the file (``Prompts.files``). A run records the files' digests."""

    def asks(self, role: str, options: BaseModel, environment: Environment) -> bool:
        """Return True if the method asks the role, given its options and the environment.

        The environment may be one that has not begun any task.
        """
        is_asked = self.conditional_roles.get(role)
        return role in self.roles and (is_asked is None or is_asked(options, environment))


def ask_and_run(
    episode: Episode,
    role: str,
    first: Prompt,
    later: Prompt,
    replies_left: Callable[[], int],
    *,
    history: Sequence[Message],
    sample: Sample = FIRST_SAMPLE,
    actions: Callable[[], int | None] = lambda: None,
    **variables: object,
) -> None:
    """Ask for a plan and run it. While replies are left, send the feedback and run the next plan.

    ``first`` is the first prompt, and ``variables`` are its variables. ``later`` is the prompt that sends feedback.
    ``replies_left`` returns the number of replies that may still be asked for. ``actions`` returns the number of
    actions that the next plan may take, or None if only the episode limits this number.
    """
    feedback, history = episode.stream(role, first, history=history, sample=sample, actions=actions(), **variables)
    while (left := replies_left()) > 0:
        variables = {"feedback": feedback.text, "left": left - 1}
        feedback, history = episode.stream(role, later, history=history, sample=sample, actions=actions(), **variables)


def ask_or_default(
    default: Default, scope: Scope, role: str, prompt: Prompt, read: Callable[[str], Read], **variables: Any
) -> Read | Default:
    """Ask a role a question. Return the value that ``read`` returns, or the default if no reply is usable."""
    try:
        return scope.ask(role, prompt, read=read, **variables).value
    except UnusableReply:
        return default


def system_message(episode: Episode, template: str, **variables: object) -> Message:
    """Return the system message of a template.

    If the template uses ``about``, ``action_docs`` or ``knowledge``, those that ``variables`` lacks are added.
    """
    environment, prompt = episode.environment, PROMPTS[template]
    available: Mapping[str, Callable[[], object]] = {
        "about": lambda: environment.about,
        "action_docs": lambda: action_docs_of(environment),
        "knowledge": lambda: episode.recall().text,
    }
    added = available.keys() & prompt.variables - variables.keys()
    return prompt.system(**{name: available[name]() for name in added}, **variables)


def public_task_fields(episode: Episode) -> Mapping[str, JsonValue]:
    """Return the fields that replace those of ``task`` in a model's plan code: the ``params`` that models may know."""
    return {"params": dict(episode.environment.public_params(episode.task))}


def countdown(number: int) -> Callable[[], int]:
    """Return a function that counts down: its first call returns ``number``, each later call one less, down to 0."""
    return iter(range(number, -1, -1)).__next__


def play_in_rounds(
    episode: Episode, max_rounds: int, play: Callable[[int], None], *, until_solved: bool = True
) -> None:
    """Play a task in up to ``max_rounds`` rounds, until it is solved. The best round counts.

    A round is one attempt at the task. Each round after the first begins with a reset of the environment. ``play``
    takes the number of the round, from 0. Raises NoPlan if the last round ended because no reply held a usable plan.

    If ``until_solved`` is False, the last round counts, no round begins if no actions are left, and a solved task stops
    the rounds only if the environment has ended its episode.
    """
    for number in range(max_rounds):
        if number:
            if not until_solved and not episode.actions_left:
                return  # a round without actions would only discard what was done
            episode.new_round(best_counts=until_solved)
        with suppress(RoundOver, *([] if number == max_rounds - 1 else [NoPlan])):
            play(number)
        if (until_solved or episode.environment.ended) and episode.verdict().solved:
            return


# Match the goal of a task with one of the task types that planbook has derived from episodes. The memory compares the
# goal with the types. If the memory is not sure, a model is asked. It may answer that no type fits.

MODEL, NONE = "model", "none"
_Text = Annotated[str, Field(strict=True, min_length=1)]
_Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class _TypeAnswer(BaseModel):
    """A model's answer: the task type and its parameters. Other fields of the JSON object are ignored."""

    type: str
    params: dict[str, _Text | StrictInt | _Number] = {}


def match_goal(episode: Episode, recall: Recall, role: str = "") -> Recall:
    """Match the goal with a task type, record the match, and return the memory's knowledge about that type.

    If the memory is not sure and ``role`` is not empty, the model of this role is asked. If planbook has derived no
    task types, return ``recall`` unchanged. Raises ModelError if the model does not answer, or BudgetEnded if the run's
    budget does not allow the question.
    """
    match = recall.match
    if match is None:
        return recall
    if match.candidates and role:
        recall = _match_by_model(episode, recall, match, role)
        match = recall.match or match
    episode.span(match if recall.procedure else match.model_copy(update={"type": "", "params": {}})).end()
    return recall


def _match_by_model(episode: Episode, recall: Recall, match: Match, role: str) -> Recall:
    """Return the knowledge about the type that a model names, or ``recall`` without a procedure if none fits."""
    if (answer := _ask_for_type(episode, match.candidates, role)).type:
        recall_of_type = episode.recall(answer)
        new_match = answer if recall_of_type.match is None else recall_of_type.match
        if new_match.type:  # the memory accepts the values that the model gave for the type's parameters
            new_match = new_match.model_copy(update={"by": MODEL, "candidates": ()})
            return recall_of_type.model_copy(update={"match": new_match})
    no_match = match.model_copy(update={"type": "", "params": {}, "by": ""})
    return recall.model_copy(update={"match": no_match, "procedure": None})


def _ask_for_type(episode: Episode, candidates: Sequence[MatchCandidate], role: str) -> Match:
    """Ask a model for the task type. The match has no type if the model names no type, or if no reply is usable."""
    scope, prompt = episode.current_scope.child("match"), PROMPTS["matching/match"]
    candidate_data: Any = [candidate.model_dump(mode="json") for candidate in candidates]
    variables = {"candidates": candidate_data, "goal": episode.task.goal, "observation": episode.observation.text}
    return ask_or_default(Match(), scope, role, prompt, _type_reader(candidates), **variables)


def _type_reader(candidates: Sequence[MatchCandidate]) -> Callable[[str], Match]:
    """Return a function that reads a reply. It raises ValueError if the type or its parameters were not offered."""
    params = {candidate.name: set(candidate.params) for candidate in candidates}

    def read(text: str) -> Match:
        try:
            answer = _TypeAnswer.model_validate(as_json(text, dict))
        except ValidationError as error:
            raise ValueError(f"the JSON object cannot be read: {error}") from error
        if answer.type == NONE:
            return Match()
        if set(answer.params) != params.get(answer.type):
            raise ValueError(
                f"none of the types is named {answer.type!r} and has exactly the parameters {sorted(answer.params)}"
            )
        return Match(type=answer.type, params=dict(answer.params), by=MODEL)

    return read
