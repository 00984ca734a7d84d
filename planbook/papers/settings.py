"""Find the settings that a paper used, for ``--paper``."""

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from planbook.config import Config, LearningSettings, PaperSettings
from planbook.envs import load_environment
from planbook.errors import BadArgument
from planbook.papers import Publication, publications
from planbook.planner import DEFAULT_ROLE, Sampling, method


def paper_settings(
    planner: str,
    env: str,
    split: str = "",
    types: Collection[str] = (),
    chosen: Mapping[str, JsonValue] = {},
    *,
    building: bool = False,
) -> PaperSettings:
    """Return the settings that a paper used to test a method, with the ``chosen`` values of some options, on a split.

    If ``building`` is true, return the settings that the paper used for learning instead. Raises BadArgument if no
    paper used this method in this environment.
    """
    name = load_environment(env).name
    paper = next((paper for paper in publications() if _has_settings(paper, planner, name)), None)
    if paper is None:
        raise BadArgument(f"--paper: no paper tested {planner} in {name}; {_papers_with(planner)}")
    setting = paper.setting(name, split, types, building=building)
    stage = setting.building if building else None
    known = method(planner).options.model_fields
    options = paper.options(planner, setting, chosen) | (stage.options if stage else {})
    return PaperSettings(
        paper.paper,
        {name: value for name, value in options.items() if name in known},
        {name: values[0] for name, values in setting.environment_options.items()},
        dict(setting.sampling),
        stage.actions if stage else setting.actions,
        setting.without,
        stage.learning if stage else None,
        setting.tasks if not stage and split == setting.split else None,
    )


def settings_used(config: Config) -> PaperSettings:
    """Return the settings that a run has taken from a paper, without those for which the user gave other values."""
    building, types = config.learning is not None, config.selection.types
    split = config.selection.split or config.environment.splits[0]
    theirs = paper_settings(config.planner, config.env, split, types, config.planner_options, building=building)
    sampling = config.sampling.get(DEFAULT_ROLE, Sampling()).model_dump()
    return theirs._replace(
        options=_shared(theirs.options, config.planner_options),
        env_options=_shared(theirs.env_options, config.env_options),
        sampling=_shared(theirs.sampling, sampling),
        actions=theirs.actions if theirs.actions == config.actions else None,
        tasks=theirs.tasks if theirs.tasks == config.selection.limit else None,
        learning=config.learning and theirs.learning and _shared_learning(theirs.learning, config.learning),
    )


def _shared_learning(theirs: LearningSettings, ours: LearningSettings) -> LearningSettings:
    return LearningSettings.model_validate(_shared(theirs.model_dump(exclude_unset=True), ours.model_dump()))


def _shared(theirs: Mapping[str, JsonValue], ours: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in theirs.items() if ours.get(name) == value}


def settings_of_papers(planner: str) -> dict[tuple[str, str], PaperSettings]:
    """Return the settings of all papers that used a method. Maps pairs of environment and split to the settings."""
    papers = [(paper, each) for paper in publications() for each in paper.settings]
    places = [(each.env, each.split) for paper, each in papers if _has_settings(paper, planner, each.env)]
    return {place: paper_settings(planner, *place) for place in places}


def _has_settings(paper: Publication, planner: str, env: str) -> bool:
    """Return True if a paper tested a method in an environment, or has options there for a method tested elsewhere."""
    options = {name for setting in paper.settings_of(env) for name in setting.options}
    elsewhere = planner in paper.planners and not options.isdisjoint(method(planner).options.model_fields)
    return paper.tested(planner, env) or elsewhere


def _papers_with(planner: str) -> str:
    """Return a clause that names the papers that used a method, and their environments."""
    places = {
        each.paper: [env for env in each.environments if _has_settings(each, planner, env)] for each in publications()
    }
    papers = [f"{paper} in {', '.join(environments)}" for paper, environments in places.items() if environments]
    return f"{planner} was tested by {'; '.join(papers)}" if papers else f"no paper has the method {planner}"
