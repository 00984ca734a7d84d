"""Environments made of tools: ``--env module:...``, ``--env gym:...`` and ``--env mcp:...``.

- ``environment``: the base class of these environments, with actions, the search for tools, ``agent.answer`` and
  verdicts.
- ``module``: makes an environment from the functions of a Python module, or from the methods of a class.
- ``gymnasium_env``: wraps a Gymnasium environment.
- ``mcp_env``: makes an environment from the tools of MCP servers.
- ``mcp_client``: connects to MCP servers.
- ``schemas``: derives the signatures of tools from JSON Schemas and from Python functions.
- ``tasks``: reads the files in which users write tasks, and judges these tasks.
"""

from functools import cache
from importlib import import_module

from planbook.envs.tools.environment import ToolEnvironment, ToolOptions

KINDS = {"gym": "gymnasium_env", "mcp": "mcp_env", "module": "module"}
"""Maps each kind of tools (the word before the colon in ``--env gym:ID``) to the module that makes the environment."""


@cache
def load_tools(kind: str, target: str) -> type[ToolEnvironment]:
    """Return the environment class for ``KIND:TARGET``, such as ``gym:CartPole-v1``. It is made once per process.

    Raises UnknownEnvironment if the tools cannot be loaded, or MissingRequirement if packages are not installed.
    """
    environment: type[ToolEnvironment] = import_module(f"{__name__}.{KINDS[kind]}").environment(target)
    return environment


__all__ = ["KINDS", "ToolEnvironment", "ToolOptions", "load_tools"]
