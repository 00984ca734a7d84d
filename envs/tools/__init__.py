"""Tools as environments: ``--env module:...``, ``--env gym:...`` and ``--env mcp:...``.

- ``environment``: the base of all kinds: actions, ``agent.answer``, the search for tools, verdicts.
- ``tasks``: task files; ``judging``: the judges of their tasks.
- ``schemas``: signatures from JSON Schemas and Python functions.
- ``module``: functions or a class. ``gymnasium_env``: Gymnasium. ``mcp_env``: MCP servers, over ``mcp_client``.
"""

from functools import cache
from importlib import import_module

from planbook.envs.tools.environment import ToolEnvironment, ToolOptions

KINDS = {"gym": "gymnasium_env", "mcp": "mcp_env", "module": "module"}
"""The modules that make environments, by the kind that ``--env`` names."""


@cache
def load_tools(kind: str, target: str) -> type[ToolEnvironment]:
    """Return the environment of a kind, made once per process. Raises UnknownEnvironment, MissingRequirement."""
    environment: type[ToolEnvironment] = import_module(f"{__name__}.{KINDS[kind]}").environment(target)
    return environment


__all__ = ["KINDS", "ToolEnvironment", "ToolOptions", "load_tools"]
