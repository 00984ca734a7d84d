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
        environments = sorted({environment for environment, _ in settings_of_papers(planner)})
        others = sorted(
            {other for paper in publications() for other in paper.planners if paper.has_results(other, name)}
        )
        elsewhere = f"papers tested it in {', '.join(environments)}" if environments else "no paper has this method"
        here = f"; in {name}, they tested {', '.join(others)}" if others else ""
        raise BadArgument(f"--paper: no paper tested {planner} in {name}; {elsewhere}{here}")
    setting = paper.setting(name, split, types, for_build=for_build)
    build = setting.build if for_build else None
    planner_options = method(planner).options.model_fields
    options = paper.options(planner, setting, chosen) | (build.options if build else {})
    return PaperSettings(
        paper.paper,
        {name: value for name, value in options.items() if name in planner_options},
        {name: values[0] for name, values in setting.environment_options.items()},
        dict(setting.sampling),
        build.actions if build else setting.actions,
        setting.without,
        build.learning if build else None,
        setting.tasks if not build and split == setting.split else None,
    )


def settings_of_papers(planner: str) -> dict[tuple[str, str], PaperSettings]:
    """Return the settings of all papers that used a method, as a dict keyed by (environment, split)."""
    settings = [(paper, setting) for paper in publications() for setting in paper.settings]
    splits = [(setting.env, setting.split) for paper, setting in settings if _has_settings(paper, planner, setting.env)]
    return {env_and_split: paper_settings(planner, *env_and_split) for env_and_split in splits}


def _has_settings(paper: Publication, planner: str, env: str) -> bool:
    """Return True if a paper tested a method in an environment, or has options there for a method tested elsewhere."""
    options = {name for setting in paper.settings_of(env) for name in setting.options}
    has_options_here = planner in paper.planners and not options.isdisjoint(method(planner).options.model_fields)
    return paper.has_results(planner, env) or has_options_here
