"""The commands `build`, `formulate`, `rules` and `effect`, which learn, and show what was learned."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import click

from planbook import errors
from planbook.commands.click_options import JSON, RUN_FOLDER, SELECTION, Command, CommandResult, options
from planbook.commands.playing import play, play_settings
from planbook.commands.testing import Series, test_config
from planbook.compare.effects import effect_parts, part_effects
from planbook.config import (
    FOUND,
    LIBRARIES,
    PAPER_OPTIONS,
    SHIPPED_LIBRARY,
    Config,
    LearningSettings,
    models_by_role,
    split_names,
)
from planbook.console import ERRORS, console
from planbook.envs import EnvsError, Task
from planbook.errors import BadArgument
from planbook.knowledge import (
    ALL_TYPES,
    KnowledgeState,
    check_learns,
    learned_state,
    library_knowledge,
    memory_of,
    single_parts,
)
from planbook.learning.coverage import coverage_lines, coverage_of
from planbook.learning.stages import export, formulate
from planbook.learning.tasks import building_tasks, default_settings, planning_method, read_source, tasks_of
from planbook.manuals import MANUAL_FILE
from planbook.planner import BudgetEnded, Recall
from planbook.results import read_folder
from planbook.results.summary import Summary
from planbook.rules import count_evidence, evidence_table, rule_text
from planbook.runs import Run, is_run, new_folder
from planbook.settings import Settings, ablated_options
from planbook.terminal import describe_spending, print_parts
from planbook.workers import check_roles

BUILD_SEEDS = range(1000)
"""Seeds of the tasks of `planbook build`, if tasks are generated from seeds. `planbook test` uses other seeds."""
RULE_ROLES = ("builder", "consolidator")
PLAYING_OPTIONS = frozenset({"planner", "planner_options", "split", "seeds", "repeats", "limits", "procedures_first"})
"""Options that cannot be combined with ``--from``, which learns from episodes that were played earlier."""


@click.command("build", cls=Command)
@options(
    *SELECTION,
    "library",
    "rule_tokens",
    "Learning",
    "Planning",
    "Models",
    "Spending",
    "Running",
    "resume",
    "allow_changed",
    planner="automanual",
)
@JSON
def build_command(settings: Settings) -> tuple[int, Summary]:
    """Learn rules, skills and procedures from one episode after another."""
    return build(settings)


def build(settings: Settings) -> tuple[int, Summary]:
    """Begin a run of `planbook build`, or resume the run named by ``--out`` or ``--resume``, and play it to the end."""
    if settings.resume is not None:
        return play_settings(settings, "")
    config = config_from_sources(settings) if settings.sources else building_config(settings)
    builds_rules = config.learning and not config.learning.libraries_only and "rules" not in config.without
    check_roles(config, ("planner", *(RULE_ROLES if builds_rules else ())))
    if config.types == FOUND and FOUND not in settings.types and config.library in LIBRARIES:
        note = "The tasks have no types, so planbook finds types and params, and hides the tasks' own params from plans"
        ERRORS.print(f"{note}; --types given shows them.", style="yellow")
    return play(config, settings.out, settings.execution(), store=settings.store)


def building_config(settings: Settings) -> Config:
    """Return the configuration of a build that plays its own episodes."""
    planner = settings.planner or "automanual"
    learning = settings.learning()
    settings = settings.with_default_tasks(BUILD_SEEDS, learning.tasks_per_type, ("train",))
    config = settings.config(planner, ablated_options(planner, settings.without), for_build=True)
    learning = _with_paper_defaults(learning, settings, planner)
    if learning.libraries_only and "rules" not in config.without and config.library == SHIPPED_LIBRARY:
        note = "No rules are learned, so planners get only the rules of the starting examples"
        ERRORS.print(f"{note}. To use others, build rules first, and name that run with --library.", style="yellow")
    return config.model_copy(update={"learning": learning})


def _with_paper_defaults(learning: LearningSettings, settings: Settings, planner: str) -> LearningSettings:
    """Return the settings for learning. With ``--paper``, the paper's replace those that the user did not give."""
    paper = settings.paper_settings(planner, for_build=True).learning
    names = [name for name in PAPER_OPTIONS if not settings.was_given(name)] if paper else []
    if settings.was_given("verify") and "procedures" in names:
        names.remove("procedures")  # --verify needs procedures, so the paper must not turn them off
    return learning.model_copy(update={name: getattr(paper, name) for name in names})


def config_from_sources(settings: Settings) -> Config:
    """Return the configuration of a build that learns from recorded episodes (``--from``)."""
    settings.refuse("--from", PLAYING_OPTIONS, "; --types, --task and --tasks-per-type choose among its episodes")
    sources = [read_source(path) for path in settings.sources]
    defaults, (planner, options) = default_settings(sources), planning_method(sources)
    if not settings.env:
        if "env" not in defaults:
            raise BadArgument("--from: the sources do not all name the same installed environment; name it with --env")
        settings = settings.model_copy(update={"env": defaults["env"]})
    if not settings.env_options and settings.env == defaults.get("env"):
        settings = settings.model_copy(update={"env_options": defaults.get("env_options", {})})
    config = settings.config("automanual", ablated_options("automanual", settings.without), for_build=True)
    learning = _with_paper_defaults(settings.learning(defaults["split"]), settings, "automanual")
    learning = learning.model_copy(update={"given": tuple(source for source, _ in sources)})
    config = config.model_copy(update={"planner": planner, "planner_options": options, "learning": learning})
    tasks = building_tasks(config)
    if learning.procedures:
        check_verifiable(config, tasks[0])
    return config


def check_verifiable(config: Config, task: Task) -> None:
    """Raise BadArgument if procedures cannot be verified on a task, because the environment cannot play it here."""
    try:
        with closing(config.environment(config.environment_options)) as environment:
            environment.reset(task)
    except EnvsError as error:
        raise BadArgument(
            f"procedures are verified on the tasks of the episodes, but {task.id} cannot be played here: {error}; "
            "to build without procedures, use --no-procedures"
        ) from error


@click.command("formulate", cls=Command)
@click.argument("folder", metavar="RUN", type=RUN_FOLDER)
@options("models", "Spending")
@JSON
def formulate_command(folder: Path, settings: Settings) -> CommandResult:
    """Write the manual from the rules of RUN, a run of `planbook build`, with its models unless you name others."""
    out = console()
    with closing(Run.open(folder, to_play=True)) as run:
        check_learns(run)
        config = run.config.model_copy(update={"models": models_by_role({**run.config.models, **settings.models})})
        run.begin_invocation(settings.execution(), models=config.models.values())
        code = errors.OK
        try:
            formulate(run, config)
        except BudgetEnded as ended:
            out.print(f"Stopped: {ended}. Continue with: planbook formulate {folder} --budget {ended.suggested_limit}")
            code = errors.OUT_OF_BUDGET
        finally:
            run.end_invocation()
        manual = export(run) / config.environment.name / MANUAL_FILE
        written = [str(manual)] if manual.exists() else []
        spent = run.meter.spent
        for line in coverage_lines(run, coverage_of(run, learned_state(run))):
            out.print(line)
        out.print(f"Written: {', '.join(written) or 'no manual'}")
        out.print(f"The run so far: {describe_spending(spent, run.meter.budget)}.")
        return code, {
            "manuals": written,
            "model_calls": spent.calls,
            "tokens": spent.tokens,
            "run": str(run.folder),
        }


DIFF_FORM = "diff A..B with the numbers of two states, or diff N for one change"


def _render_rules(state: KnowledgeState, rule_id: str) -> str:
    if rule_id:
        return rule_text(state.history.book.rule(rule_id))
    rules = state.history.book.active
    if not rules:
        return "There are no rules yet."
    text = "\n".join(rule_text(rule) for rule in rules)
    return f"{text}\n{evidence_table(state.history.book, count_evidence(state.citations))}"


def _render_diff(state: KnowledgeState, numbers: str) -> str:
    first, dots, last = numbers.partition("..")
    ends = (_read_number(first or "0", DIFF_FORM), _read_number(last or str(len(state.history.entries)), DIFF_FORM))
    if numbers and not dots:  # a single change: compare with the state before it
        ends = (ends[0] - 1, ends[0])
    return state.history.diff(*ends) or "No difference."


def _undo_change(run: Run, state: KnowledgeState, entry: int) -> KnowledgeState:
    """Undo change number ``entry`` of the rules and all later changes, and record the undo in the run.

    Raises BadHistory if there is no such change, or if undoing it would change nothing.
    """
    undone = state.with_history(state.history.undo(entry))
    number = sum(1 for _ in run.store.events("undo", "undo"))
    run.store.put("undo", "undo", number, {"group": ALL_TYPES, "entry": entry, "after": len(state.history.entries)})
    export(run)
    return undone


def _read_number(text: str, form: str) -> int:
    if not text.isdecimal():
        raise BadArgument(f"{text or 'nothing'!r} is not a number; write {form}")
    return int(text)


@click.command()
@click.argument("run", type=RUN_FOLDER)
@click.argument("what", required=False, default="show", type=click.Choice(["show", "log", "diff", "undo", "coverage"]))
@click.argument("which", required=False, default="")
@JSON
def rules(run: Path, what: str, which: str) -> CommandResult:
    """Show what a run of `planbook build` has learned, and its history: show [ID], log, diff A..B, undo N, coverage."""
    with closing(Run.open(run, to_play=what == "undo")) as opened:
        state = learned_state(opened)
        if what == "undo":
            state = _undo_change(opened, state, _read_number(which, "undo N: the number of a change"))
        coverage = coverage_of(opened, state)
        gaps = list(coverage_lines(opened, coverage))
    match what:
        case "show":
            text = _render_rules(state, which)
        case "diff":
            text = _render_diff(state, which)
        case "coverage":
            text = "\n".join(gaps) or "No gaps were found."
        case _:
            text = "\n".join(state.history.log()) or "Nothing has been changed yet."
    console().print(text.rstrip())
    facts = {
        "coverage": coverage.model_dump(mode="json"),
        "rules": [rule.model_dump(mode="json") for rule in state.knowledge.rules],
        "changes": len(state.history.entries),
        "evidence": {id: evidence.model_dump() for id, evidence in count_evidence(state.citations).items()},
        "text": text,
    }
    return errors.OK, facts


@click.command("effect", cls=Command)
@click.argument("library", metavar="RUN", type=RUN_FOLDER)
@click.option(
    "--parts", default="", show_default="all", metavar="NAME,...", help="Measure only these parts: rule_3, skill:TYPE."
)
@options(*SELECTION, "after", "rule_tokens", "Planning", "Models", "Spending", "Running")
@JSON
def effect_command(library: Path, parts: str, settings: Settings) -> CommandResult:
    """Measure what each rule and skill that RUN learned is worth, by playing test tasks without it.

    RUN is a run of `planbook build`. One run plays with everything. Then, for each rule or skill, a run without it
    plays the tasks that use it.
    """
    env = settings.env or _env_of_library(library)
    config = test_config(settings.model_copy(update={"library": str(library), "env": env}))
    all_parts, chosen = single_parts(library_knowledge(config)), split_names(parts)
    if unknown := sorted(set(chosen) - set(all_parts)):
        raise BadArgument(
            f"--parts {unknown[0]}: there is no such rule or skill; known: {', '.join(all_parts) or 'none'}"
        )
    if not models_by_role(settings.models) and not settings.planner:
        raise BadArgument(
            "use --model to name the model that plays; or measure the procedures alone, which ask no model, with "
            "--planner procedures"
        )
    return play_effects(config, chosen or all_parts, Series(settings, settings.out or new_folder(config)))


def _env_of_library(library: Path) -> str:
    """Return the environment in which a run learned, or "" for a folder that is not a run.

    Raises BadArgument if a run has learned nothing.
    """
    if not is_run(library):
        return ""
    with closing(Run.open(library)) as run:
        check_learns(run)
        return run.config.env


def play_effects(config: Config, parts: Sequence[str], series: Series) -> CommandResult:
    """Play a test run with all parts, and for each part a run without it. Print how the results differ.

    A run without a part plays only the tasks that use this part. Raises BadArgument if the settings of a run are
    invalid, or BadRun if a folder holds a run with other settings.

    In the result, ``finished`` is False if a run is missing or not complete. ``runs`` maps "all" to the folder of the
    run with all parts, and each part to the folder of the run without it.
    """
    screen, folders = console(), dict[str, Path | None]()
    summary = series.play(config, "all")
    for part, ablated, affected in _ablations(config, parts):
        if series.stopped:
            break
        name = f"without-{part.replace(':', '-')}"
        if affected:
            screen.print(f"Without {part}:")
            series.play(ablated, name, affected)
        if not series.stopped:
            folders[part] = series.out / name if affected else None
    results = {part: read_folder(folder) if folder else None for part, folder in folders.items()}
    effects = part_effects(read_folder(series.out / "all"), results)
    if effects:
        print_parts(screen, effect_parts(effects))
    if series.stopped:
        screen.print(f"Not finished; {series.how_to_continue}")
    runs = {"all": str(series.out / "all"), **{part: str(folder) for part, folder in folders.items() if folder}}
    return series.exit_code, {
        "library": config.library,
        "tasks": summary.tasks,
        "solved": summary.solved,
        "parts": [effect.model_dump() for effect in effects],
        "runs": runs,
        "finished": not series.stopped,
    }


def _ablations(config: Config, parts: Sequence[str]) -> Iterator[tuple[str, Config, list[Task]]]:
    """Yield each part, the configuration without it, and the tasks that get different knowledge without it."""
    tasks, memory = tasks_of(config), memory_of(config)
    for part in parts:
        ablated = config.model_copy(update={"without": tuple(sorted({*config.without, part}))})
        reduced = memory_of(ablated)
        affected = [
            task
            for task in tasks
            if _used_knowledge(config, reduced.recall(task)) != _used_knowledge(config, memory.recall(task))
        ]
        yield part, ablated, affected


def _used_knowledge(config: Config, recall: Recall) -> Recall:
    """Return the recalled knowledge that the run uses. If the run asks no model, remove all texts for models."""
    if config.models:
        return recall
    return recall.model_copy(update={"text": "", "data": "", "example": "", "rule_ids": (), "demonstrations": {}})
