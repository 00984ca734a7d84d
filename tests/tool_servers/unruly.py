"""An MCP server that dies, hangs, lies about types, returns too much or binary data, changes tools and reveals secrets.

With the argument "http" it serves streamable HTTP to clients that know the key, and prints its address.
"""

import asyncio
import json
import os
import socket
import sys
from typing import Any

import uvicorn
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

KEY = os.environ.get("SERVER_KEY", "")
CHANGED = False
CHANGES = InMemorySubscriptionBus()
OBJECT = {"type": "object", "properties": {}}
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
SLOW = {"type": "object", "properties": {"text": {"type": "string", "pattern": r"^(\w+\s?)*$"}}}
OUTPUTS = {"lie": NUMBER, "slow": SLOW}
NAMES = ("die", "hang", "lie", "much", "image", "change", "secret", "quote", "tell", "fail", "wait", "slow", "odd-name")


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    hints = {"wait": types.ToolAnnotations(read_only_hint=True)}
    tools = [
        types.Tool(name=name, input_schema=OBJECT, output_schema=OUTPUTS.get(name), annotations=hints.get(name))
        for name in NAMES
    ]
    tools[-1] = types.Tool(
        name="odd-name",
        description=f"Key {KEY}.",
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
    if name in ("hang", "wait"):
        await asyncio.sleep(1000)
    if name == "lie":
        return types.CallToolResult(content=[], structured_content={"n": "many"})
    if name == "slow":
        return types.CallToolResult(content=[], structured_content={"text": "a" * 26 + "!"})
    if name == "image":
        return types.CallToolResult(content=[types.ImageContent(type="image", data="aGVsbG8=", mime_type="image/png")])
    if name == "change":
        CHANGED = True
        await CHANGES.publish(ToolsListChanged())
    if name == "secret":
        text = f"the key is {KEY}"
    if name == "quote":
        text = json.dumps(KEY) + json.dumps(KEY, ensure_ascii=False)
    if name == "tell":
        print(f"my key: {KEY}", file=sys.stderr, flush=True)
        raise RuntimeError(f"{KEY} does not open it")
    if name == "odd-name":
        text = str(params.arguments)
    text = "x" * 10_000_000 if name == "much" else text
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=name == "fail")


LISTEN = ListenHandler(CHANGES)
SERVER: Any = Server("unruly", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=LISTEN)


async def over_stdio() -> None:
    async with stdio_server() as (read, write):
        await SERVER.run(read, write, SERVER.create_initialization_options())


async def over_http() -> None:
    inner = SERVER.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and headers.get(b"authorization", b"").decode() != f"Bearer {KEY}":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await inner(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listening])


asyncio.run(over_http() if "http" in sys.argv else over_stdio())
