"""`planbook mcp`: an environment, its tasks and what was learned about it, served to any MCP client over stdio.

``session`` runs the client's plans, whose names and effects last from call to call; ``server`` is the MCP server.
"""
