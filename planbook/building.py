"""The commands of AutoManual's three stages: build, formulate, test."""

from contextlib import closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict, JsonValue

from planbook import errors
from planbook.arguments import Asked, by_role
from planbook.commands import play
from planbook.lanes import Hosting
from planbook.printing import console, spending
from planbook.run import LEARNT_LIBRARY, Learning, Run
from planbook.stages import export_manuals
from planbook.stages import formulate as formulate_rules
from planbook.summary import Summary
from planbook.voices import check_voices
from planner import BudgetEnded, method

BUILD_SEEDS, TEST_SEEDS = range(1000), range(1000, 2000)
"""Where seeds are drawn from, in worlds that make their tasks from seeds: building and testing share none."""
TEST_TASKS_PER_TYPE = 6
LEARNERS = ("builder", "consolidator")


class Formulated(BaseModel):
    """The object that ends the standard output of ``formulate --json``."""

    model_config = ConfigDict(frozen=True)

    manuals: tuple[str, ...]
    model_calls: int
    tokens: int
    run: str


def build(planner: str, asked: Asked, learning: Learning, hosting: Hosting, *, as_json: bool) -> tuple[int, Summary]:
    """Begin to build, or take up the run that is there, and build to the end."""
    drawn = asked.drawn(BUILD_SEEDS, learning.tasks_per_type, ("train",))
    config = drawn.config(planner, ablated_options(planner, asked.without))
    config = config.model_copy(update={"learning": learning})
    check_voices(config, ("planner",) if "rules" in asked.without else ("planner", *LEARNERS))
    return play(config, asked.out, hosting, as_json=as_json)


def test(planner: str | None, asked: Asked, hosting: Hosting, *, table: bool, as_json: bool) -> tuple[int, Summary]:
    """Play test tasks with what was learnt."""
    planner = planner or ("automanual" if asked.models_by_role() else "procedures")
    asked = asked if asked.library else asked.model_copy(update={"library": LEARNT_LIBRARY})
    drawn = asked.drawn(TEST_SEEDS, TEST_TASKS_PER_TYPE, ("valid_unseen",))
    config = drawn.config(planner, ablated_options(planner, asked.without))
    return play(config, asked.out, hosting, as_json=as_json)


def formulate(
    folder: Path, models: tuple[str, ...], tokens: int | None, hosting: Hosting, *, as_json: bool
) -> tuple[int, Formulated]:
    """Turn the rules of a building run into manuals, and write them beside what else it learnt."""
    out = console(as_json)
    with closing(Run.open(folder, to_play=True)) as run:
        if run.config.learning is None:
            raise errors.BadArgument(f"{folder} is no building run; rules come from `planbook build`")
        named = by_role(models)
        config = run.config.model_copy(update={"models": {**run.config.models, **named}})
        run.sit_down(hosting.budget, hosting.prices, named.values())
        code = errors.OK
        try:
            formulate_rules(run, config, tokens)
        except BudgetEnded as ended:
            out.print(f"Stopped: {ended}.")
            code = errors.OUT_OF_BUDGET
        finally:
            run.stand_up()
        written = list(map(str, export_manuals(run, tokens)))
        spent = run.meter.spent
        out.print(f"Written: {', '.join(written) or 'no manual'}", soft_wrap=True)
        out.print(f"The run so far: {spending(spent, run.meter.budget)}.")
        return code, Formulated(
            manuals=tuple(written), model_calls=spent.calls, tokens=spent.tokens, run=str(run.folder)
        )


def ablated_options(planner: str, without: tuple[str, ...]) -> dict[str, JsonValue]:
    """The planner's options that follow from what is left out, where it has them."""
    implied = {"cooperation": "cooperation", "helpers": "helper_methods"}
    known = method(planner).options.model_fields
    return {option: False for left_out, option in implied.items() if left_out in without and option in known}
