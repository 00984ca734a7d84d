"""`planbook mcp`: an environment, its tasks and the learned knowledge, served to any MCP client over stdio.

``session`` runs the client's plans: names that a plan defines, and what it changes, persist for later plans. ``server``
is the MCP server.
"""
