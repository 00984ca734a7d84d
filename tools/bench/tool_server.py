"""The MCP server for ``bench tools``. It serves over stdio or, if it gets an argument, over streamable HTTP."""

import sys

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", log_level="WARNING")


@server.tool()
def add(a: int, b: int) -> int:
    """Return the sum of two numbers."""
    return a + b


def main() -> None:
    """Serve until the process is ended. Over HTTP, first print the address."""
    if len(sys.argv) == 1:
        server.run()
        return
    import socket

    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning")).run([listening])


if __name__ == "__main__":
    main()
