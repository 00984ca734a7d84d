"""The inputs of a run with their digests, recorded when it begins: data, prompts, knowledge, models, prices and seeds.

``inputs`` lists them; ``planbook.runs.changes`` compares two such lists. Versions stand beside them in ``run.json``.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from planbook.config import RECORDINGS, Config
from planbook.envs import Task, file_digest, folder_digest, known_environments, texts_digest
from planbook.knowledge import PROCEDURES, learned_in, start_of, with_manual
from planbook.manuals import DEMONSTRATIONS_FOLDER, SHIPPED, usual_starts
from planbook.manuals import PROMPTS as MANUALS
from planbook.planner import DEFAULT_ROLE, METHODS, Sampling, is_method_file, method, registered_methods
from planbook.planner import PROMPTS as PLANNER
from planbook.planner import SHIPPED_PRICES as PRICES
from planbook.rules import PROMPTS as RULES
from planbook.runs import CONFIG_FILE, MadeOf, Run, is_run

SHOWN = 16
"""Digits of a prompt's digest that are recorded: enough to tell two versions apart."""
EVERYWHERE = ("repair.j2", "action_docs.j2")
"""Templates of every method that asks a model."""
LEARNING = ("automanual/conclu*.j2", "trajectory.j2")
"""The planner's templates that learning from an episode needs, whichever method played it."""
CODE = ("procedures", "helpers")
TEXTS = ("rules.json", "manual.md", "skills.json", "reflections.json", "types.json", "example.md")
"""What a library's folder of an environment may hold; see ``planbook.manuals.knowledge``."""


def inputs(config: Config, tasks: Sequence[Task], prices: Path | None = None) -> MadeOf:
    """Return the inputs that a run of these tasks would have now.

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


def inputs_of_graph(config: Config, prices: Path | None = None) -> MadeOf:
    """Return the inputs of passes of a prompt graph; the graph itself stands in the configuration, whole."""
    return MadeOf(
        prompts=graph_templates(),
        models=model_digests(config),
        prices=price_digests(config, prices),
        seeds=seeds_of(config),
    )


def data_digests(config: Config, tasks: Sequence[Task]) -> dict[str, str]:
    """Return the digests of what the tasks are played on, and of the environment's own file where it is the user's."""
    each = {task.id: task for task in tasks}
    found = dict(config.environment.checksums(list(each.values()), config.environment_options))
    file = Path(config.env.partition(":")[0])
    if file.suffix == ".py":
        return (
            found | {f"the environment's file {file.name}": file_digest(file)} | of_modules_beside(file, "environment")
        )
    return found | of_registered(known_environments().get(config.env, ""), "environment")


def model_digests(config: Config) -> dict[str, str]:
    """Return the digests of recordings and scripts. A recording that the run itself adds to has none."""
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
    """Return the digest of the price table, where a model is asked."""
    return {"price table": file_digest(prices or PRICES)} if config.models else {}


def seeds_of(config: Config) -> dict[str, int | None]:
    """Return the run's own seed, and those sent to models in the first repeat; the next repeat has one more."""
    found: dict[str, int | None] = {"run": config.seed}
    sampling = {DEFAULT_ROLE: Sampling(), **config.sampling} if config.models else {}
    for role, each in sampling.items():
        found[f"sampling of {role}"] = None if each.seed is None else each.seed + config.seed
    return found


def prompt_digests(config: Config) -> dict[str, str]:
    """Return the digests of templates and graphs that roles can be asked; nothing for a method that asks no model."""
    strategy = method(config.planner)
    options = strategy.options.model_validate(config.planner_options)
    found: dict[str, str] = {}
    if is_method_file(config.planner):
        file = Path(config.planner.partition(":")[0])
        found |= {f"the method's file {file.name}": file_digest(file)[:SHOWN], **of_modules_beside(file, "method")}
    elif config.planner not in METHODS:
        found |= of_registered(registered_methods()[config.planner].value, "method")
    if strategy.roles:
        found |= _of_files({**PLANNER.files(*EVERYWHERE), **strategy.templates})
    if config.learning is not None:
        found |= _of_files({**PLANNER.files(*EVERYWHERE, *LEARNING), **RULES.files(), **MANUALS.files()})
    if texts := options.texts(config.environment.name):
        found |= graph_templates() | {name: texts_digest([text])[:SHOWN] for name, text in texts.items()}
    return found


def graph_templates() -> dict[str, str]:
    """Return the digests of templates that a prompt graph needs beside its own prompts."""
    from planbook.planner import GRAPH_PROMPTS as GRAPHS  # few runs have a graph

    return _of_files({**GRAPHS.files("*.j2"), **PLANNER.files("repair.j2")})


def _of_files(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: file_digest(path)[:SHOWN] for name, path in files.items()}


def knowledge_digests(config: Config) -> dict[str, str]:
    """Return the digests of library, start and demonstrations. Raises BadStart, BadRun."""
    found = _of_library(config)
    names = _starts(config)
    if names:
        found["start"] = texts_digest([start_of(config, names).model_dump_json()])
    return found | _of_demonstrations(config)


def _of_library(config: Config) -> dict[str, str]:
    folder = config.library_folder
    if is_run(folder):
        return _of_building_run(config, folder)
    home = folder / config.environment.name
    found = {name: folder_digest(home / name, ("*.py",)) for name in CODE if (home / name).is_dir()}
    if config.planner == PROCEDURES:
        return found
    return found | {name: file_digest(home / name) for name in TEXTS if (home / name).is_file()}


def _of_building_run(config: Config, folder: Path) -> dict[str, str]:
    """Return the digest of what the run had learned, as far as it is used; it may have learned more since."""
    with closing(Run.open(folder)) as run:
        if run.config.learning is None:
            return {}
        states = learned_in(run, config.after)
        told = {group: with_manual(run, group, state) for group, state in states.items()}
        return {f"learnt ({group})": texts_digest([known.model_dump_json()]) for group, known in told.items()}


def _starts(config: Config) -> tuple[str, ...]:
    """Return the starts that the run may be given: those that it names, else the usual ones."""
    if config.learning is not None:
        return config.learning.start
    return usual_starts(config.environment.name, config.selection.split or "") if method(config.planner).roles else ()


def _of_demonstrations(config: Config) -> dict[str, str]:
    libraries = dict.fromkeys([config.library_folder, SHIPPED])
    folders = [library / config.environment.name / DEMONSTRATIONS_FOLDER for library in libraries]
    found = {name: list(_shown(folders, name)) for name in method(config.planner).demonstrations}
    return {f"demonstration {name}": texts_digest(digests) for name, digests in found.items() if digests}


def _shown(folders: Iterable[Path], name: str) -> Iterable[str]:
    """Give names and digests of the files that may be shown under a name, in the order of the search."""
    for folder in folders:
        for path in (*sorted((folder / name).glob("*.md")), folder / f"{name}.md"):
            if path.is_file():
                yield from (path.name, file_digest(path))


def of_modules_beside(file: Path, what: str) -> dict[str, str]:
    """Return the digest of every module or package beside the file that it imports, also through others."""
    found: dict[str, str] = {}
    open_files = [file.resolve()]
    while open_files:
        for name in _imported(open_files.pop()):
            path = _beside(file.resolve().parent, name)
            if path is None or (key := f"the {what}'s module {name}") in found:
                continue
            found[key] = folder_digest(path, ("*.py",)) if path.is_dir() else file_digest(path)
            open_files += path.rglob("*.py") if path.is_dir() else [path]
    return found


def of_registered(value: str, what: str) -> dict[str, str]:
    """Return the digest of the module or whole package that an entry point ``module:name`` stands in."""
    name = value.partition(":")[0].strip().partition(".")[0]
    spec = None if name in ("", "planbook") else find_spec(name)
    if spec is None or not spec.origin:
        return {}
    path = Path(spec.origin)
    digest = folder_digest(path.parent, ("*.py",)) if spec.submodule_search_locations else file_digest(path)
    return {f"the {what}'s package {name}": digest}


def _beside(folder: Path, name: str) -> Path | None:
    """Return the module's file or the package's folder; nothing where Python finds an installed one first."""
    if name == "planbook" or name in sys.stdlib_module_names:
        return None
    for path in (folder / name / "__init__.py", folder / f"{name}.py", folder / name):
        if path.exists():
            there = find_spec(name)
            origin = Path(there.origin).resolve() if there and there.origin else path
            return (path.parent if path.name == "__init__.py" else path) if origin == path else None
    return None


def _imported(file: Path) -> Iterator[str]:
    """Yield the top-level names that a file imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
