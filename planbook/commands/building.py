"""The commands of AutoManual's three stages: build, formulate, test."""

from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook import errors
from planbook.commands.curve import Curve, play_curve
from planbook.commands.paper_tables import Tested, show_beside
from planbook.commands.playing import play, play_settings
from planbook.config import LEARNT_LIBRARY, LIBRARIES, Config
from planbook.console import console
from planbook.envs import EnvsError
from planbook.knowledge import learnt_in
from planbook.learning import building_tasks, coverage_lines, export_manuals
from planbook.learning import formulate as formulate_rules
from planbook.planner import BudgetEnded, method
from planbook.results import Summary
from planbook.runs import Run, new_folder
from planbook.settings import Settings
from planbook.terminal.printing import spending
from planbook.workers import Hosting, check_roles

BUILD_SEEDS, TEST_SEEDS = range(1000), range(1000, 2000)
"""Where seeds are drawn from, in worlds that make their tasks from seeds: building and testing share none."""
TEST_TASKS_PER_TYPE = 6
LEARNERS = ("builder", "consolidator")
OF_A_PAPER = ("start", "tasks_per_type", "solved_after", "max_rules", "per_type", "libraries_only")
"""Options of building that a paper may set."""
OF_PLAYING = frozenset({"planner", "planner_options", "split", "seeds", "repeats", "limits", "procedures_first"})
"""Options that say how episodes are played: those that are given were."""


class Formulated(BaseModel):
    """The object that ends the standard output of ``formulate --json``."""

    model_config = ConfigDict(frozen=True)

    manuals: tuple[str, ...]
    model_calls: int
    tokens: int
    run: str


def build(settings: Settings, *, as_json: bool) -> tuple[int, Summary]:
    """Begin to build, or resume the run that is there, and build to the end."""
    if settings.resume is not None:
        return play_settings(settings, "", as_json=as_json)
    config = config_from_sources(settings) if settings.sources else building_config(settings)
    check_roles(config, learners(config))
    return play(config, settings.out, settings.hosting(), as_json=as_json, store=settings.store)


def building_config(settings: Settings) -> Config:
    """Return the configuration of a run that plays the episodes that it learns from."""
    planner = settings.planner or "automanual"
    learning = settings.learning()
    drawn = settings.drawn(BUILD_SEEDS, learning.tasks_per_type, ("train",))
    config = drawn.config(planner, ablated_options(planner, settings.without), building=True)
    if theirs := settings.paper_settings(planner, building=True).learning:
        of_paper = {name: getattr(theirs, name) for name in OF_A_PAPER if not settings.was_given(name)}
        learning = learning.model_copy(update=of_paper)
    return config.model_copy(update={"learning": learning})


def config_from_sources(settings: Settings) -> Config:
    """Return the configuration of a run that learns from episodes that were played already."""
    from planbook.learning.given import looked_at, planned_by, world_of  # its schema takes a while to import

    settings.refuse("--from", OF_PLAYING)
    sources = [looked_at(path) for path in settings.sources]
    agreed, (planner, options) = world_of(sources), planned_by(sources)
    if not settings.env:
        if "env" not in agreed:
            raise errors.BadArgument("--from: the runs there do not name their environment; name it with --env")
        settings = settings.model_copy(update={"env": agreed["env"]})
    config = settings.config("automanual", ablated_options("automanual", settings.without))
    if not settings.env_options and settings.env == agreed.get("env"):
        config = config.model_copy(update={"env_options": agreed.get("env_options", config.env_options)})
    config = config.model_copy(update={"types": settings.source_of_types(building=True)})
    learning = settings.learning(agreed["split"]).model_copy(update={"given": tuple(given for given, _ in sources)})
    config = config.model_copy(update={"planner": planner, "planner_options": options, "learning": learning})
    check_verifying(config)
    return config


def learners(config: Config) -> tuple[str, ...]:
    """The roles that are asked about episodes that are over."""
    builds_rules = config.learning and not config.learning.libraries_only and "rules" not in config.without
    return ("planner", *(LEARNERS if builds_rules else ()))


def check_verifying(config: Config) -> None:
    """See that procedures can be verified on the world here, or are not made. Raises BadArgument."""
    assert config.learning is not None
    if not config.learning.procedures:
        return
    task = building_tasks(config)[0]
    try:
        with closing(config.world(config.world_options)) as world:
            world.reset(task)
    except EnvsError as error:
        raise errors.BadArgument(
            f"procedures are verified on the tasks of the episodes, and {task.id} cannot be played here: {error}; "
            "build without them: --no-procedures"
        ) from error


def test(settings: Settings, *, table: bool, as_json: bool) -> tuple[int, Summary | Curve]:
    """Play test tasks with what was learned; for several numbers of building tasks, one run each."""
    after = settings.after if len(settings.after) > 1 else ()
    config = test_config(settings.model_copy(update={"after": ()}) if after else settings)
    play_one = partial(play, hosting=settings.hosting(), as_json=as_json, store=settings.store)
    if not after:
        code, summary = play_one(config, settings.out)
        if not table:
            return code, summary
        return code, Tested.of(summary, show_beside(config, summary, as_json=as_json))
    out = settings.out or new_folder(config)
    code, curve = play_curve(config, after, out, play_one, as_json=as_json)
    if table:
        last = curve.curve[-1]
        beside = show_beside(config.model_copy(update={"after": last.after}), last.summary, as_json=as_json)
        curve = curve.model_copy(update={"table": beside})
    return code, curve


def test_config(settings: Settings) -> Config:
    """Return the configuration of a test: by default procedures play if no model is named, with what was learned."""
    planner = settings.planner or ("automanual" if settings.models else "procedures")
    if not settings.was_given("library") and (LIBRARIES[LEARNT_LIBRARY] / settings.world().name).is_dir():
        settings = settings.model_copy(update={"library": LEARNT_LIBRARY})
    drawn = settings.drawn(TEST_SEEDS, TEST_TASKS_PER_TYPE, ("valid_unseen",))
    return drawn.config(planner, ablated_options(planner, settings.without))


def formulate(
    folder: Path, models: Mapping[str, str], tokens: int | None, hosting: Hosting, *, as_json: bool
) -> tuple[int, Formulated]:
    """Turn the rules of a building run into manuals, and write them beside what else it learnt."""
    out = console(as_json)
    with closing(Run.open(folder, to_play=True)) as run:
        if run.config.learning is None:
            raise errors.BadArgument(f"{folder} is not a building run; rules come from `planbook build`")
        config = run.config.model_copy(update={"models": {**run.config.models, **models}})
        run.begin_invocation(
            hosting.budget, hosting.prices, models.values(), timeouts=hosting.timeouts, unsafe=hosting.unsafe_no_sandbox
        )
        code = errors.OK
        try:
            formulate_rules(run, config, tokens)
        except BudgetEnded as ended:
            out.print(
                f"Stopped: {ended}. Continue with: planbook formulate {folder} --budget {ended.larger}", soft_wrap=True
            )
            code = errors.OUT_OF_BUDGET
        finally:
            run.end_invocation()
        written = list(map(str, export_manuals(run, tokens)))
        spent = run.meter.spent
        for group, state in learnt_in(run).items():
            for line in coverage_lines(run, group, state):
                out.print(line, markup=False, soft_wrap=True)
        out.print(f"Written: {', '.join(written) or 'no manual'}", soft_wrap=True)
        out.print(f"The run so far: {spending(spent, run.meter.budget)}.")
        return code, Formulated(
            manuals=tuple(written), model_calls=spent.calls, tokens=spent.tokens, run=str(run.folder)
        )


def ablated_options(planner: str, without: tuple[str, ...]) -> dict[str, JsonValue]:
    """The planner's options that follow from what is left out, where it has them."""
    implied = {"cooperation": "cooperation", "rules": "cooperation", "helpers": "helper_methods"}
    known = method(planner).options.model_fields
    return {option: False for left_out, option in implied.items() if left_out in without and option in known}
