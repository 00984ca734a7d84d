"""The inputs of a run: digests of its data, prompts, knowledge, models and prices, and its seeds.

When a run begins or is resumed, ``current_inputs`` collects its inputs. ``planbook.runs.changed_inputs`` compares them
with the inputs that the run recorded earlier. ``run.json`` also records the versions of the software.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from planbook import knowledge
from planbook.config import RECORDINGS, Config
from planbook.envs import Task, file_digest, folder_digest, known_environments, texts_digest
from planbook.knowledge import PROCEDURES
from planbook.manuals import DEMONSTRATIONS_FOLDER, SHIPPED
from planbook.planner import (
    DEFAULT_ROLE,
    METHODS,
    PROMPTS as PLANNER_PROMPTS,
    SHIPPED_PRICES,
    Sampling,
    is_method_file,
    method,
    registered_methods,
)
from planbook.runs import CONFIG_FILE, PROMPT_DIGITS, Run, RunInputs, is_run

COMMON_TEMPLATES = ("repair.j2", "action_docs.j2")
"""Templates that every method uses if it calls a model."""
LEARNING_TEMPLATES = ("automanual/conclu*.j2", "trajectory.j2")
"""The planner's templates for learning from an episode. They are used for the episodes of every planning method."""
CODE_FOLDERS = ("procedures", "helpers")
TEXT_FILES = ("rules.json", "manual.md", "skills.json", "reflections.json", "types.json", "example.md")
"""Files that a library may hold for an environment, next to the folders of code; see ``planbook.manuals.library``."""


def current_inputs(config: Config, tasks: Sequence[Task], prices: Path | None = None) -> RunInputs:
    """Return the inputs that a run of these tasks would have if it began now.

    This reads the files of all tasks: for ALFWorld, about 0.3 ms per game, or one second for the 3,553 games of the
    training split. Raises EnvsError, ManualsError, PlannerError or BadRun if an input cannot be read.
    """
    return RunInputs(
        data=data_digests(config, tasks),
        prompts=prompt_digests(config),
        knowledge=knowledge_digests(config),
        models=model_digests(config),
        prices=price_digests(config, prices),
        seeds=seeds_of(config),
    )


def inputs_of_graph(config: Config, prices: Path | None = None) -> RunInputs:
    """Return the inputs of a run of a prompt graph. The graph itself is recorded in the run's configuration."""
    return RunInputs(
        prompts=graph_templates(),
        models=model_digests(config),
        prices=price_digests(config, prices),
        seeds=seeds_of(config),
    )


def data_digests(config: Config, tasks: Sequence[Task]) -> dict[str, str]:
    """Return the digests of the tasks' data and of the environment's code, unless that ships with planbook."""
    by_id = {task.id: task for task in tasks}
    digests = dict(config.environment.checksums(list(by_id.values()), config.environment_options))
    kind, _, target = config.env.partition(":")
    if kind == "mcp" and Path(target).is_file():
        digests[f"the file of MCP servers {Path(target).name}"] = file_digest(Path(target))
    digests |= {name: _digest_of_code(path) for name, path in code_files(config).items()}
    return digests | package_digests(known_environments().get(config.env, ""), "environment")


def code_files(config: Config) -> dict[str, Path]:
    """Return a dict that maps descriptions to the user's own files and packages that implement the environment."""
    kind, _, target = config.env.partition(":")
    file = Path(target.partition(":")[0] if kind == "module" else kind)
    files: dict[str, Path] = {}
    if file.suffix == ".py":
        if kind != "module":
            files[f"the environment's file {file.name}"] = file
        files |= imported_modules(file, "environment")
    for name, path in config.environment.code_files(config.environment_options).items():
        is_own = path.is_file() and "site-packages" not in path.parts
        modules = imported_modules(path, name) if is_own else {}
        files |= {f"the {name}": path, **modules}
    return files


def model_digests(config: Config) -> dict[str, str]:
    """Return the digests of the files that act as models: recordings of replies, and scripts.

    Recordings to which the run itself adds replies are left out.
    """
    digests = {spec: _model_digest(spec) for spec in sorted(set(config.models.values()))}
    return {spec: digest for spec, digest in digests.items() if digest}


def _model_digest(spec: str) -> str:
    kind, _, target = spec.partition(":")
    if kind == "scripted":
        return _digest_if_file(Path(target.rpartition(":")[0]))
    if kind == "recorded" and "+" in target:
        return _model_digest(target.partition("+")[2])
    if kind != "recorded":
        return ""
    candidates = (Path(target) / CONFIG_FILE, RECORDINGS / f"{target}.jsonl", Path(target))
    return next(filter(None, map(_digest_if_file, candidates)), "")


def _digest_if_file(path: Path) -> str:
    return file_digest(path) if path.is_file() else ""


def price_digests(config: Config, prices: Path | None) -> dict[str, str]:
    """Return the digest of the price table, or an empty dict if the run calls no model."""
    return {"price table": file_digest(prices or SHIPPED_PRICES)} if config.models else {}


def seeds_of(config: Config) -> dict[str, int | None]:
    """Return the run's own seed, and the seeds sent to models in the first repeat. Each later repeat adds 1 to them."""
    seeds: dict[str, int | None] = {"run": config.seed}
    roles = {DEFAULT_ROLE: Sampling(), **config.sampling} if config.models else {}
    for role, sampling in roles.items():
        seeds[f"sampling of {role}"] = None if sampling.seed is None else sampling.seed + config.seed
    return seeds


def prompt_digests(config: Config) -> dict[str, str]:
    """Return the digests of all templates and graphs and of the method's code, unless that ships with planbook."""
    planning_method = method(config.planner)
    options = planning_method.options.model_validate(config.planner_options)
    digests: dict[str, str] = {}
    if is_method_file(config.planner):
        file = Path(config.planner.partition(":")[0])
        digests[f"the method's file {file.name}"] = file_digest(file)[:PROMPT_DIGITS]
        digests |= {name: _digest_of_code(path) for name, path in imported_modules(file, "method").items()}
    elif config.planner not in METHODS:
        digests |= package_digests(registered_methods()[config.planner].value, "method")
    if planning_method.roles:
        digests |= _template_digests({**PLANNER_PROMPTS.files(*COMMON_TEMPLATES), **planning_method.templates})
    if config.learning is not None:
        from planbook.manuals import PROMPTS as MANUALS_PROMPTS
        from planbook.rules import PROMPTS as RULES_PROMPTS

        digests |= _template_digests(PLANNER_PROMPTS.files(*COMMON_TEMPLATES, *LEARNING_TEMPLATES))
        digests |= _template_digests({**RULES_PROMPTS.files(), **MANUALS_PROMPTS.files()})
    if texts := options.prompt_sources(config.environment.name):
        digests |= graph_templates() | {name: texts_digest([text])[:PROMPT_DIGITS] for name, text in texts.items()}
    return digests


def graph_templates() -> dict[str, str]:
    """Return the digests of the templates that every prompt graph needs besides its own prompts."""
    from planbook.planner import GRAPH_PROMPTS  # imported here, since few runs have a graph

    return _template_digests({**GRAPH_PROMPTS.files("*.j2"), **PLANNER_PROMPTS.files("repair.j2")})


def _template_digests(files: Mapping[str, Path]) -> dict[str, str]:
    return {name: file_digest(path)[:PROMPT_DIGITS] for name, path in files.items()}


def knowledge_digests(config: Config) -> dict[str, str]:
    """Return the digests of the library, of the examples that learning starts from, and of the demonstrations.

    Raises BadStart or BadRun if one of them cannot be read.
    """
    digests = _library_digests(config)
    if names := _start_names(config):
        digests["start"] = texts_digest([knowledge.starting_knowledge(config, names).model_dump_json()])
    return digests | _demonstration_digests(config)


def _library_digests(config: Config) -> dict[str, str]:
    folder = config.library_folder
    if is_run(folder):
        return _learned_digests(config, folder)
    home = folder / config.environment.name
    digests = {name: folder_digest(home / name, ("*.py",)) for name in CODE_FOLDERS if (home / name).is_dir()}
    if config.planner == PROCEDURES:
        return digests
    return digests | {name: file_digest(home / name) for name in TEXT_FILES if (home / name).is_file()}


def _learned_digests(config: Config, folder: Path) -> dict[str, str]:
    """Return the digests of what a `planbook build` run had learned after ``config.after`` tasks."""
    with closing(Run.open(folder)) as run:
        if run.config.learning is None or (state := knowledge.find_learned_state(run, config.after)) is None:
            return {}
        return {"learned (all)": texts_digest([knowledge.with_manual(run, state).model_dump_json()])}


def _start_names(config: Config) -> tuple[str, ...]:
    """Return the names of the examples with which the run starts.

    The configuration of a build names them. Any other run starts with the default examples if it calls a model, or
    else with none.
    """
    if config.learning is not None:
        return config.learning.start
    if not method(config.planner).roles:
        return ()
    from planbook.manuals import default_starts

    return default_starts(config.environment.name, config.selection.split or "")


def _demonstration_digests(config: Config) -> dict[str, str]:
    libraries = dict.fromkeys([config.library_folder, SHIPPED])
    folders = [library / config.environment.name / DEMONSTRATIONS_FOLDER for library in libraries]
    parts = {name: list(_names_and_digests(folders, name)) for name in method(config.planner).demonstrations}
    return {f"demonstration {name}": texts_digest(texts) for name, texts in parts.items() if texts}


def _names_and_digests(folders: Iterable[Path], name: str) -> Iterable[str]:
    """Yield the name and then the digest of each file of this demonstration, in the order of the folders."""
    for folder in folders:
        for path in (*sorted((folder / name).glob("*.md")), folder / f"{name}.md"):
            if path.is_file():
                yield from (path.name, file_digest(path))


def imported_modules(file: Path, owner: str) -> dict[str, Path]:
    """Return the modules and packages that a file imports, even indirectly, from its own folder, by description."""
    modules: dict[str, Path] = {}
    pending = [file.resolve()]
    while pending:
        for name in _imported_names(pending.pop()):
            path = _find_module(file.resolve().parent, name)
            if path is None or (key := f"the {owner}'s module {name}") in modules:
                continue
            modules[key] = path
            pending += path.rglob("*.py") if path.is_dir() else [path]
    return modules


def _digest_of_code(path: Path) -> str:
    return folder_digest(path, ("*.py",)) if path.is_dir() else file_digest(path)


def package_digests(entry_point: str, owner: str) -> dict[str, str]:
    """Return the digest of the module or package of an entry point ``module:name``."""
    name = entry_point.partition(":")[0].strip().partition(".")[0]
    spec = None if name in ("", "planbook") else find_spec(name)
    if spec is None or not spec.origin:
        return {}
    path = Path(spec.origin)
    return {f"the {owner}'s package {name}": _digest_of_code(path.parent if spec.submodule_search_locations else path)}


def _find_module(folder: Path, name: str) -> Path | None:
    """Return the file of a module, or the folder of a package, that would be imported from this folder.

    Return None if the folder has no such module, or if Python would import another one with the same name.
    """
    if name == "planbook" or name in sys.stdlib_module_names:
        return None
    for path in (folder / name / "__init__.py", folder / f"{name}.py", folder / name):
        if path.exists():
            spec = find_spec(name)
            origin = Path(spec.origin).resolve() if spec and spec.origin else path
            return (path.parent if path.name == "__init__.py" else path) if origin == path else None
    return None


def _imported_names(file: Path) -> Iterator[str]:
    """Yield the top-level names that a file imports."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
