"""Tools as environments: ``--env module:...``, ``--env gym:...`` and ``--env mcp:...``.

- ``environment``: the base class of these environments: actions, the search for tools, ``agent.answer``, verdicts.
- ``module``: the functions of a Python module, or the methods of a class.
- ``gymnasium_env``: Gymnasium environments.
- ``mcp_env``: the tools of MCP servers.
- ``mcp_client``: connections to MCP servers.
- ``schemas``: the signatures of tools, from JSON Schemas and Python functions.
- ``tasks``: the files in which users write tasks, and the judges of these tasks.
"""

from functools import cache
from importlib import import_module

from planbook.envs.tools.environment import ToolEnvironment, ToolOptions

KINDS = {"gym": "gymnasium_env", "mcp": "mcp_env", "module": "module"}
"""Maps each kind of tools, as in ``--env gym:ID``, to the module that makes an environment of them."""


@cache
def load_tools(kind: str, target: str) -> type[ToolEnvironment]:
    """Return the environment class for tools. It is made once per process.

    Raises UnknownEnvironment if the tools cannot be loaded, or MissingRequirement if packages are not installed.
    """
    environment: type[ToolEnvironment] = import_module(f"{__name__}.{KINDS[kind]}").environment(target)
    return environment


__all__ = ["KINDS", "ToolEnvironment", "ToolOptions", "load_tools"]
