"""`planbook mcp`: an environment, its tasks and the learned knowledge, served to any MCP client over stdio.

``session`` runs the client's plans, whose names and effects persist between calls; ``server`` is the MCP server.
"""
