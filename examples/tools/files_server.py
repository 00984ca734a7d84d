"""An MCP server over stdio: text files in a temporary folder, and a table of their sizes in SQLite."""

import sqlite3
import tempfile
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("files")
reads = ToolAnnotations(read_only_hint=True)
writes = ToolAnnotations(read_only_hint=False, destructive_hint=False)
destroys = ToolAnnotations(read_only_hint=False, destructive_hint=True)
temporary = tempfile.TemporaryDirectory(prefix="files-server-")
folder = Path(temporary.name)
for name, text in {"a.txt": "alpha", "b.txt": "beta", "draft.txt": "nothing yet"}.items():
    (folder / name).write_text(text)
table = sqlite3.connect(":memory:", check_same_thread=False)
table.execute("create table sizes (name text primary key, size integer)")


@server.tool(annotations=reads)
def list_files() -> list[str]:
    """Return the names of all files."""
    return sorted(path.name for path in folder.iterdir())


@server.tool(name="read-file", annotations=reads)
def read_file(name: str) -> str:
    """Return the text of a file."""
    return (folder / Path(name).name).read_text()


@server.tool(name="write-file", annotations=writes)
def write_file(name: str, text: str, mode: Literal["replace", "append"] = "replace") -> int:
    """Write a file, and return its size."""
    path = folder / Path(name).name
    before = path.read_text() if mode == "append" and path.exists() else ""
    path.write_text(before + text)
    return path.stat().st_size


@server.tool(name="remove-file", annotations=destroys)
def remove_file(name: str) -> None:
    """Remove a file."""
    (folder / Path(name).name).unlink()


@server.tool(annotations=writes)
def record(name: str) -> dict[str, int]:
    """Put the size of a file into the table of sizes."""
    size = (folder / Path(name).name).stat().st_size
    table.execute("insert or replace into sizes values (?, ?)", (name, size))
    return {"size": size}


@server.tool(annotations=reads)
def sizes() -> dict[str, int]:
    """Return the table of sizes: name to size."""
    return dict(table.execute("select name, size from sizes order by name").fetchall())


if __name__ == "__main__":
    server.run()
