"""Find the settings that a paper used, for ``--paper``."""

from collections.abc import Collection, Mapping

from pydantic import JsonValue

from planbook.config import PaperSettings
from planbook.envs import load_environment
from planbook.errors import BadArgument
from planbook.papers import Publication, publications
from planbook.planner import method


def paper_settings(
    planner: str,
    env: str,
    split: str = "",
    types: Collection[str] = (),
    chosen: Mapping[str, JsonValue] = {},
    *,
    for_build: bool = False,
) -> PaperSettings:
    """Return the settings that a paper used to test a method, with the ``chosen`` values of some options, on a split.

    If ``for_build`` is true, return the settings that the paper used for learning instead. Raises BadArgument if no
    paper used this method in this environment.
    """
    name = load_environment(env).name
    paper = next((paper for paper in publications() if _has_settings(paper, planner, name)), None)
    if paper is None:
        places = sorted({place for place, _ in settings_of_papers(planner)})
        others = sorted({each for paper in publications() for each in paper.planners if paper.tested(each, name)})
        elsewhere = f"papers tested it in {', '.join(places)}" if places else "no paper has this method"
        there = f"; in {name}, they tested {', '.join(others)}" if others else ""
        raise BadArgument(f"--paper: no paper tested {planner} in {name}; {elsewhere}{there}")
    setting = paper.setting(name, split, types, for_build=for_build)
    stage = setting.build if for_build else None
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


def settings_of_papers(planner: str) -> dict[tuple[str, str], PaperSettings]:
    """Return the settings of all papers that used a method, as a dict keyed by (environment, split)."""
    papers = [(paper, each) for paper in publications() for each in paper.settings]
    places = [(each.env, each.split) for paper, each in papers if _has_settings(paper, planner, each.env)]
    return {place: paper_settings(planner, *place) for place in places}


def _has_settings(paper: Publication, planner: str, env: str) -> bool:
    """Return True if a paper tested a method in an environment, or has options there for a method tested elsewhere."""
    options = {name for setting in paper.settings_of(env) for name in setting.options}
    elsewhere = planner in paper.planners and not options.isdisjoint(method(planner).options.model_fields)
    return paper.tested(planner, env) or elsewhere
