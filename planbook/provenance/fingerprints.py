"""Taking down what a run is made of, before its first episode."""

from collections.abc import Sequence
from pathlib import Path

from planbook.config import RECORDINGS, Config
from planbook.envs import Task, file_digest, known_environments
from planbook.planner.models import Sampling
from planbook.planner.models.prices import SHIPPED as PRICES
from planbook.planner.roles import DEFAULT
from planbook.provenance.knowledge import knowledge_digests
from planbook.provenance.own_code import of_modules_beside, of_registered
from planbook.provenance.prompts import graph_templates, prompt_digests
from planbook.run import CONFIG_FILE, MadeOf


def made_of(config: Config, tasks: Sequence[Task], prices: Path | None = None) -> MadeOf:
    """What a run of these tasks would be made of now.

    Reads the files that the tasks come from: some 0.3 ms a game of ALFWorld, the 3,553 of its training split in a
    second. Raises what reading them raises: EnvsError, ManualsError, PlannerError, BadRun.
    """
    return MadeOf(
        data=data_digests(config, tasks),
        prompts=prompt_digests(config),
        knowledge=knowledge_digests(config),
        models=model_digests(config),
        prices=price_digests(config, prices),
        seeds=seeds_of(config),
    )


def made_of_graph(config: Config, prices: Path | None = None) -> MadeOf:
    """What passes of a prompt graph would be made of now; the graph itself stands in the configuration, whole."""
    return MadeOf(
        prompts=graph_templates(),
        models=model_digests(config),
        prices=price_digests(config, prices),
        seeds=seeds_of(config),
    )


def data_digests(config: Config, tasks: Sequence[Task]) -> dict[str, str]:
    """What the tasks are played on, and the world's own file where it is one of the user's."""
    each = {task.id: task for task in tasks}
    found = dict(config.world.checksums(list(each.values()), config.world_options))
    file = Path(config.env.partition(":")[0])
    if file.suffix == ".py":
        return found | {f"the world's file {file.name}": file_digest(file)} | of_modules_beside(file, "world")
    return found | of_registered(known_environments().get(config.env, ""), "world")


def model_digests(config: Config) -> dict[str, str]:
    """The files of answers and scripts. A recording that the run itself adds to has no digest."""
    found = {spec: _of_model(spec) for spec in sorted(set(config.models.values()))}
    return {spec: digest for spec, digest in found.items() if digest}


def _of_model(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    if kind == "scripted":
        return _if_file(Path(rest.rpartition(":")[0]))
    if kind != "recorded" or "+" in rest:
        return ""
    shipped = RECORDINGS / f"{rest}.jsonl"
    return _if_file(Path(rest) / CONFIG_FILE) or _if_file(shipped) or _if_file(Path(rest))


def _if_file(path: Path) -> str:
    return file_digest(path) if path.is_file() else ""


def price_digests(config: Config, prices: Path | None) -> dict[str, str]:
    """The price table, where there is somebody to be paid."""
    return {"price table": file_digest(prices or PRICES)} if config.models else {}


def seeds_of(config: Config) -> dict[str, int | None]:
    """The run's own seed, and those that models are sent in the first repeat; the next repeat has one more."""
    found: dict[str, int | None] = {"run": config.seed}
    sampling = {DEFAULT: Sampling(), **config.sampling} if config.models else {}
    for role, each in sampling.items():
        found[f"sampling of {role}"] = None if each.seed is None else each.seed + config.seed
    return found
