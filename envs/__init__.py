"""Environments that agents act on, and their actions.

Base classes and data types

- ``base``: ``Environment``, the base class of all environments, and the decorators ``@action`` and ``@query``.
- ``optional_members``: the members of ``Environment`` that an environment may override. They include its goals, from
  which the planning method DEPS selects.
- ``types``: tasks, selections of tasks, actions, observations, verdicts, snapshots.
- ``preconditions``: declare what actions need and what they change, so that plans can be checked before they run.
- ``errors``: the errors of this package, and functions that describe errors.

Using environments

- ``registry``: load an environment by name, from another package, or from a Python file.
- ``selection``: list the tasks that the user selects by split, type, seed or id.
- ``checking``: find mistakes in an environment, for ``planbook check-env``.
- ``json_types``: the types that parameters may have, and random values of these types, for ``checking``.

Shared by environments

- ``chromium``: find Chromium, start it, and share one browser within a process, for ``miniwob`` and ``web``.
- ``devtools``: connections that speak Chromium's DevTools protocol, and commands for keyboard and mouse.
- ``requirements``: find packages that environments need, say how to install them, and compute digests of data files.
- ``secrets``: detect values that look like secrets.
- ``text_matching``: measure how similar texts are, judging by their words (token set ratio, BM25).
- ``watchdog``: if planbook dies, end the processes that an environment started.
- ``yaml_files``: read YAML, and find the line of each value.

The environments

- ``toy``: a small world of boxes and things, for tests and documentation.
- ``alfworld``, ``crafter``, ``minecraft``, ``miniwob``, ``shopping``, ``tabletop``, ``textcraft`` and ``web``: the
  environments of the papers that planbook reproduces.
- ``tools``: environments made of Python functions, MCP servers or Gymnasium environments.
"""

if __name__ == "envs":
    raise ImportError("envs is a package of planbook: import planbook.envs", name="envs")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.envs.base import Environment, action, query
    from planbook.envs.checking import check_environment
    from planbook.envs.errors import (
        BadSelection,
        Diverged,
        EnvironmentBroken,
        EnvsError,
        EpisodeEnded,
        MissingRequirement,
        UnknownAction,
        UnknownEnvironment,
        error_location,
        validation_faults,
    )
    from planbook.envs.optional_members import Features, Goals
    from planbook.envs.preconditions import UNKNOWN, Beliefs, Change, Contract, Fact, Need, Preconditions
    from planbook.envs.registry import (
        ModuleLoadError,
        execute_module,
        import_error,
        is_loaded,
        known_environment,
        known_environments,
        load_environment,
        load_module,
        register_class,
    )
    from planbook.envs.requirements import (
        file_digest,
        files_digest,
        folder_digest,
        install_command,
        missing_extra,
        package_version,
        texts_digest,
    )
    from planbook.envs.secrets import holds_secret
    from planbook.envs.text_matching import BM25
    from planbook.envs.tools.environment import ToolEnvironment
    from planbook.envs.tools.schemas import python_name
    from planbook.envs.types import (
        Action,
        ActionSpec,
        CheckReport,
        NoOptions,
        Observation,
        Offer,
        Requirement,
        Selection,
        Snapshot,
        Task,
        Verdict,
    )
    from planbook.envs.yaml_files import FileFault, YamlFile, YamlPath, read_yaml
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "BM25",
    "UNKNOWN",
    "Action",
    "ActionSpec",
    "BadSelection",
    "Beliefs",
    "Change",
    "CheckReport",
    "Contract",
    "Diverged",
    "Environment",
    "EnvironmentBroken",
    "EnvsError",
    "EpisodeEnded",
    "Fact",
    "Features",
    "FileFault",
    "Goals",
    "MissingRequirement",
    "ModuleLoadError",
    "Need",
    "NoOptions",
    "Observation",
    "Offer",
    "Preconditions",
    "Requirement",
    "Selection",
    "Snapshot",
    "Task",
    "ToolEnvironment",
    "UnknownAction",
    "UnknownEnvironment",
    "Verdict",
    "YamlFile",
    "YamlPath",
    "action",
    "check_environment",
    "error_location",
    "execute_module",
    "file_digest",
    "files_digest",
    "folder_digest",
    "holds_secret",
    "import_error",
    "install_command",
    "is_loaded",
    "known_environment",
    "known_environments",
    "load_environment",
    "load_module",
    "missing_extra",
    "package_version",
    "python_name",
    "query",
    "read_yaml",
    "register_class",
    "texts_digest",
    "validation_faults",
]
