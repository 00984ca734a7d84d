"""Environments that agents act on, and their actions.

Protocols and base classes

- ``base``: ``Environment``, the class to derive from, with ``@action`` and ``@query``. ``optional`` documents its
  optional members.
- ``types``: tasks, selections, actions, observations, verdicts, snapshots.
- ``preconditions``: ``Preconditions`` of actions, for checking plans before they run.
- ``optional``: ``Goals``, for the selectors of DEPS.
- ``errors``: every error of this package.

Using environments

- ``registry``: load one by name, from another package, or from a file.
- ``selection``: turn a selection into tasks.
- ``checking``: find mistakes in an environment (``planbook check-env``).
- ``secrets``: detect values that look like secrets.
- ``resources``: packages, install commands and digests of data. ``yaml_lines``: YAML with the line of each value.
- ``text_matching``: token set ratio, BM25.

Shipped environments: ``alfworld``, ``crafter``, ``minecraft``, ``miniwob``, ``shopping``, ``tabletop``,
``textcraft``, ``toy`` and ``web``. ``browser`` runs Chromium for two of them. ``tools`` turns functions, MCP
servers and Gymnasium's environments into environments.
"""

if __name__ == "envs":
    raise ImportError("envs is a package of planbook: import planbook.envs", name="envs")

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.envs.base import Environment, action, query
    from planbook.envs.checking import Checked, check_environment
    from planbook.envs.errors import (
        BadSelection,
        Diverged,
        EnvironmentBroken,
        EnvsError,
        EpisodeEnded,
        MissingRequirement,
        UnknownAction,
        UnknownEnvironment,
        raised_at,
        validation_faults,
    )
    from planbook.envs.optional import Features, Goals
    from planbook.envs.preconditions import UNKNOWN, Beliefs, Change, Deed, Fact, Need, Preconditions
    from planbook.envs.registry import (
        CannotLoad,
        execute_module,
        import_error,
        is_loaded,
        known_environment,
        known_environments,
        load_environment,
        load_module,
        register_class,
    )
    from planbook.envs.resources import (
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
        NoOptions,
        Observation,
        Offered,
        Requirement,
        Selection,
        Snapshot,
        Task,
        Verdict,
    )
    from planbook.envs.yaml_lines import FileFault, Where, YamlFile, read_yaml
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "BM25",
    "UNKNOWN",
    "Action",
    "ActionSpec",
    "BadSelection",
    "Beliefs",
    "CannotLoad",
    "Change",
    "Checked",
    "Deed",
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
    "Need",
    "NoOptions",
    "Observation",
    "Offered",
    "Preconditions",
    "Requirement",
    "Selection",
    "Snapshot",
    "Task",
    "ToolEnvironment",
    "UnknownAction",
    "UnknownEnvironment",
    "Verdict",
    "Where",
    "YamlFile",
    "action",
    "check_environment",
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
    "raised_at",
    "read_yaml",
    "register_class",
    "texts_digest",
    "validation_faults",
]
