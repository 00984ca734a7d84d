"""An MCP server that dies, hangs, lies about types, returns too much or binary, and changes its tools."""

import asyncio
import os
import sys
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

CHANGED = False
OBJECT = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
OUTPUTS = {"lie": NUMBER}
NAMES = ("die", "hang", "lie", "much", "image", "change", "secret", "fail", "odd-name")


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    tools = [types.Tool(name=name, input_schema=OBJECT, output_schema=OUTPUTS.get(name)) for name in NAMES]
    tools[-1] = types.Tool(
        name="odd-name",
        description=f"Key {os.environ.get('SERVER_KEY', '')}.",
        input_schema={
            "type": "object",
            "properties": {"from": {"type": "string"}, "a b": {"$ref": "#/$defs/B"}},
            "required": ["from"],
            "$defs": {"B": {"anyOf": [{"type": "integer", "minimum": 3}, {"enum": ["x"]}]}},
        },
    )
    return types.ListToolsResult(tools=tools[1:] if CHANGED else tools)


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    global CHANGED
    text, name = "ok", params.name
    if name == "die":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "hang":
        await asyncio.sleep(1000)
    if name == "lie":
        return types.CallToolResult(content=[], structured_content={"n": "many"})
    if name == "image":
        return types.CallToolResult(content=[types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")])
    if name == "change":
        CHANGED = True
        await ctx.session.send_tool_list_changed()
    if name == "secret":
        text = f"the key is {os.environ['SERVER_KEY']}"
    if name == "odd-name":
        text = str(params.arguments)
    text = "x" * 10_000_000 if name == "much" else text
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=name == "fail")


async def main() -> None:
    server: Any = Server("unruly", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
