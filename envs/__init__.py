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

- ``toy``: a small environment with boxes and things, for tests and documentation.
- ``alfworld``, ``crafter``, ``minecraft``, ``miniwob``, ``shopping``, ``tabletop``, ``textcraft`` and ``web``: the
  environments of the papers that planbook reproduces.
- ``tools``: environments made of Python functions, MCP servers or Gymnasium environments.
"""

if __name__ == "envs":
    raise ImportError("envs is a package of planbook: import planbook.envs", name="envs")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:  # `X as X` tells type checkers that X is public
    from planbook.envs.base import Environment as Environment, action as action, query as query
    from planbook.envs.checking import check_environment as check_environment
    from planbook.envs.errors import (
        BadSelection as BadSelection,
        Diverged as Diverged,
        EnvironmentBroken as EnvironmentBroken,
        EnvsError as EnvsError,
        EpisodeEnded as EpisodeEnded,
        MissingRequirement as MissingRequirement,
        UnknownAction as UnknownAction,
        UnknownEnvironment as UnknownEnvironment,
        error_location as error_location,
        validation_faults as validation_faults,
    )
    from planbook.envs.optional_members import Features as Features, Goals as Goals
    from planbook.envs.preconditions import (
        UNKNOWN as UNKNOWN,
        Beliefs as Beliefs,
        Change as Change,
        Contract as Contract,
        Fact as Fact,
        Need as Need,
        Preconditions as Preconditions,
    )
    from planbook.envs.registry import (
        ModuleLoadError as ModuleLoadError,
        execute_module as execute_module,
        import_error as import_error,
        is_loaded as is_loaded,
        known_environment as known_environment,
        known_environments as known_environments,
        load_environment as load_environment,
        load_module as load_module,
        register_class as register_class,
    )
    from planbook.envs.requirements import (
        file_digest as file_digest,
        files_digest as files_digest,
        folder_digest as folder_digest,
        install_command as install_command,
        missing_extra as missing_extra,
        package_version as package_version,
        texts_digest as texts_digest,
    )
    from planbook.envs.secrets import holds_secret as holds_secret
    from planbook.envs.text_matching import BM25 as BM25
    from planbook.envs.tools.environment import ToolEnvironment as ToolEnvironment
    from planbook.envs.tools.schemas import python_name as python_name
    from planbook.envs.types import (
        Action as Action,
        ActionSpec as ActionSpec,
        CheckReport as CheckReport,
        NoOptions as NoOptions,
        Observation as Observation,
        Offer as Offer,
        Requirement as Requirement,
        Selection as Selection,
        Snapshot as Snapshot,
        Task as Task,
        Verdict as Verdict,
    )
    from planbook.envs.yaml_files import (
        FileFault as FileFault,
        YamlFile as YamlFile,
        YamlPath as YamlPath,
        read_yaml as read_yaml,
    )
else:
    __getattr__ = lazy_getattr(__name__)
