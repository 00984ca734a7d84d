"""Files of the user's that a run names by whole paths: where they are after a move, and what others are told."""

from pathlib import Path

from planbook.config import Config

ABOVE = 4
"""Folders above the run's own that are looked through."""


def found_again(config: Config, folder: Path) -> Config:
    """Return the configuration with the present paths of an environment, method, library, script or recording.

    A path that is still there stays. Else the file is looked for by the end of its path, beside the run and in the
    folders above it, then in the working folder. What is found is held against its digest like any other.
    """
    found = {name: _named(getattr(config, name), folder) for name in ("env", "planner")}
    library = str(_found(Path(config.library), folder)) if Path(config.library).is_absolute() else config.library
    models = {role: _model(spec, folder) for role, spec in config.models.items()}
    new = {**found, "library": library, "models": models}
    moved = {name: value for name, value in new.items() if value != getattr(config, name)}
    return config.model_copy(update=moved) if moved else config


def _named(spec: str, folder: Path) -> str:
    """FILE.py:NAME with the file's present path."""
    path, colon, name = spec.partition(":")
    return f"{_found(Path(path), folder)}{colon}{name}" if path.endswith(".py") else spec


def _model(spec: str, folder: Path) -> str:
    kind, _, rest = spec.partition(":")
    if kind == "scripted":
        return f"{kind}:{_named(rest, folder)}"
    if kind != "recorded":
        return spec
    path, plus, inner = rest.partition("+")
    found = _found(Path(path), folder) if Path(path).is_absolute() else path
    return f"{kind}:{found}{plus}{_model(inner, folder) if inner else ''}"


def _found(path: Path, folder: Path) -> Path:
    """Return where the file or folder is now; its old path if it is nowhere."""
    if path.exists():
        return path
    for parent in (*folder.resolve().parents[:ABOVE], Path.cwd()):
        for length in range(len(path.parts) - 1, 0, -1):
            if (now := parent.joinpath(*path.parts[-length:])).exists():
                return now
    return path


def without_folders(config: Config) -> Config:
    """Return the configuration with the names of files alone: the folders they are in are this machine's."""
    models = {role: _model_name(spec) for role, spec in config.models.items()}
    names = {name: _name(getattr(config, name)) for name in ("env", "planner")}
    return config.model_copy(update={**names, "library": Path(config.library).name, "models": models})


def _name(spec: str) -> str:
    path, colon, name = spec.partition(":")
    return f"{Path(path).name}{colon}{name}" if path.endswith(".py") else spec


def _model_name(spec: str) -> str:
    kind, _, rest = spec.partition(":")
    if kind == "scripted":
        return f"{kind}:{_name(rest)}"
    if kind not in ("recorded", "exchange"):
        return spec
    path, plus, inner = rest.partition("+") if kind == "recorded" else (rest, "", "")
    name = Path(path).name if Path(path).is_absolute() else path
    return f"{kind}:{name}{plus}{_model_name(inner) if inner else ''}"
