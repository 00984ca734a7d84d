"""Digests of the prompt templates that a run's roles can be asked, and of the graphs that make prompts."""

from collections.abc import Iterable
from pathlib import Path

from envs.checksums import of_file, of_texts
from manuals.templates import FOLDER as MANUALS
from planbook.config import Config
from planner import method
from planner.graph import SHIPPED_GRAPHS, graph_path, text_of
from planner.graph.templates import FOLDER as GRAPHS
from planner.strategies.agentkit.passes import AgentKitOptions
from planner.templates import FOLDER as PLANNER
from rules.templates import FOLDER as RULES

SHOWN = 16
"""Digits of a digest that are recorded: enough to tell two texts of one template apart."""
EVERYWHERE = ("repair.j2", "surface.j2")
"""Templates of every method that asks a model."""
OF_FAMILY = {
    "adapt": ("adapt/*.j2", "executor/*.j2", "reflexion/*.j2"),
    "advocate": ("advocate/*.j2",),
    "agentkit": (),
    "automanual": ("automanual/*.j2",),
    "code": (),
    "deps": ("deps/*.j2",),
}
"""Those of a family of methods, by the name of its module in ``planner.strategies``."""
LEARNING = ("automanual/conclu*.j2", "trajectory.j2")
"""Those of the planner's templates that learning from an episode needs, whichever method played it."""


def prompt_digests(config: Config) -> dict[str, str]:
    """Template or graph to digest; nothing for a method that asks no model."""
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    found: dict[str, str] = {}
    if strategy.roles:
        found |= _of_templates(PLANNER, (*EVERYWHERE, *OF_FAMILY[_family(config.planner)]))
    if config.learning is not None:
        found |= _of_templates(PLANNER, (*EVERYWHERE, *LEARNING))
        found |= _of_templates(RULES, ("**/*.j2",)) | _of_templates(MANUALS, ("**/*.j2",))
    if isinstance(options, AgentKitOptions):
        found |= graph_templates() | _of_graph(options, config.world.name)
    return found


def graph_templates() -> dict[str, str]:
    """Those that a prompt graph needs beside its own prompts."""
    return _of_templates(GRAPHS, ("*.j2",)) | _of_templates(PLANNER, ("repair.j2",))


def _family(planner: str) -> str:
    """The module of ``planner.strategies`` that the method stands in."""
    return method(planner).play.__module__.removeprefix("planner.strategies.").partition(".")[0]


def _of_templates(folder: Path, patterns: Iterable[str]) -> dict[str, str]:
    files = sorted({path for pattern in patterns for path in folder.glob(pattern)})
    return {path.relative_to(folder).as_posix(): of_file(path)[:SHOWN] for path in files}


def _of_graph(options: AgentKitOptions, world: str) -> dict[str, str]:
    """The graph, the Python files of its hooks, and the graph that ships for the world, whose manual others share."""
    name, own = options.graph_name(world), SHIPPED_GRAPHS / f"{world}.yaml"
    text = text_of(graph_path(name)) if options.text is None else options.text
    found = {f"graph {Path(name).stem}": of_texts([text])[:SHOWN]}
    if own.is_file() and own.stem != name:
        found[f"manual of the graph {world}"] = of_file(own)[:SHOWN]
    files = {hook.rpartition(":")[0] for hook in options.graph_file(world).hooks if ":" in hook}
    return found | {f"hooks {file}": of_file(Path(name).parent / file)[:SHOWN] for file in sorted(files)}
