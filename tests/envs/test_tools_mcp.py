"""MCP servers as environments, over stdio and streamable HTTP."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from planbook.envs import Environment, EnvironmentBroken, UnknownEnvironment, load_environment
from planbook.envs.secrets import secrets_in_command
from planbook.envs.tools.environment import ToolFailed
from planbook.envs.tools.mcp_client import McpConnection, McpServer, read_servers, result_text
from tests import executing
from tests.envs.playing import call, started
from tests.sandbox.fuzz.size import SECONDS, seconds_of

pytest.importorskip("mcp")
from mcp import types

from planbook.envs.tools import mcp_env

EXAMPLES = Path(__file__).parents[2] / "examples" / "tools"
FILES = f"mcp:{sys.executable} {EXAMPLES}/files_server.py"
UNRULY = Path(__file__).parents[1] / "tool_servers" / "unruly.py"
STDIO: dict[str, object] = {"command": sys.executable, "args": [str(UNRULY)]}
SECRET = "hunter2-hunter2"


def start(name: str, folder: Path, condition: str = "answer == 1", **options: object) -> Environment:
    """Start a task that is solved if the condition holds, an assertion about the tools."""
    file = folder / "tasks.yaml"
    file.write_text(json.dumps({"tasks": [{"id": "a", "goal": "Tidy up.", "judge": {"assert": condition}}]}))
    return started(load_environment(name), "a", tasks=str(file), **options)


def test_every_tool_is_an_action_with_its_signature_and_effect(tmp_path: Path) -> None:
    files = start(FILES, tmp_path, "'b.txt' not in agent.list_files()")
    signatures = {name: str(spec.signature) for name, spec in files.actions.items()}
    assert signatures["write_file"] == "(name: str, text: str, mode: Literal['replace', 'append'] = 'replace') -> int"
    assert signatures["list_files"] == "() -> list[str]"
    effects = [files.actions[name].doc.splitlines()[-1] for name in ("read_file", "write_file", "remove_file")]
    assert effects == ["It only reads.", "It changes something.", "It may destroy something."]
    assert call(files, "list_files") == ["a.txt", "b.txt", "draft.txt"]
    assert call(files, "write_file", "a.txt", " and omega", "append") == 15
    assert call(files, "read_file", "a.txt") == "alpha and omega"
    assert call(files, "record", "a.txt") == {"size": 15}
    assert "wrong arguments" in str(call(files, "write_file", "a.txt", "x", "prepend"))
    assert str(call(files, "read_file", "none.txt")).startswith("failed: ")
    assert not files.verdict().solved
    kept = files.snapshot()
    call(files, "remove_file", "b.txt")
    assert files.verdict().solved
    files.reset(kept.task)
    assert call(files, "read_file", "a.txt") == "alpha"
    files.close()


@contextmanager
def serving_http(folder: Path) -> Iterator[dict[str, object]]:
    """Run the unruly server over streamable HTTP, and yield the configuration of its clients."""
    environ = {**os.environ, "SERVER_KEY": SECRET}
    with open(folder / "errors.txt", "w") as errors:
        command = [sys.executable, str(UNRULY), "http"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    try:
        yield {"url": process.stdout.readline().strip(), "headers": {"Authorization": "Bearer ${PLANBOOK_TEST_KEY}"}}
    finally:
        process.kill()
        process.wait()


def name_servers(folder: Path, bad: dict[str, object], good: str = "files") -> str:
    files = {"command": sys.executable, "args": [str(EXAMPLES / "files_server.py")]}
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"bad": bad, good: files}}))
    return f"mcp:{folder}/servers.json"


@pytest.fixture(params=["stdio", "http"])
def unruly_name(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("PLANBOOK_TEST_KEY", SECRET)
    if request.param == "http":
        with serving_http(tmp_path) as server:
            yield name_servers(tmp_path, server)
    else:
        env = {"SERVER_KEY": "$PLANBOOK_TEST_KEY"}
        yield name_servers(tmp_path, STDIO | {"env": env})


@pytest.fixture
def unruly(unruly_name: str, tmp_path: Path) -> Iterator[Environment]:
    environment = start(unruly_name, tmp_path, timeout=60)
    yield environment
    environment.close()


@pytest.mark.parametrize("unruly_name", ["stdio", pytest.param("http", marks=pytest.mark.deep)], indirect=True)
def test_a_server_that_hangs_or_changes_its_tools_breaks_the_environment(unruly_name: str, tmp_path: Path) -> None:
    unruly = start(unruly_name, tmp_path, "agent.bad.wait()", timeout=3)
    assert "bad did not answer a call of hang within 3 s" in str(call(unruly, "bad.hang"))
    assert call(unruly, "bad.fail") == "failed: ok"
    with pytest.raises(EnvironmentBroken, match=r"its assertions cannot be run: .* bad did not answer .* within 3 s"):
        unruly.verdict()
    call(unruly, "bad.change")
    with pytest.raises(EnvironmentBroken, match="changed its tools: gone die"):
        [call(unruly, "bad.secret") for _ in range(1000)]  # the notice may come after the result
    unruly.close()


def test_servers_have_their_names_and_errors_describe_what_happened(unruly: Environment) -> None:
    """Neither the errors nor anything else that a server sends contains a secret."""
    assert call(unruly, "bad.secret") == "the key is ***"
    assert SECRET not in str(call(unruly, "bad.tell"))
    assert unruly.actions["bad.odd_name"].doc == "Key ***."
    shown = f"{unruly.about} {unruly.versions()} {unruly.options} {unruly.actions}"
    assert SECRET not in shown
    assert call(unruly, "files.read_file", "a.txt") == "alpha"
    assert "output schema" in str(call(unruly, "bad.lie"))
    assert "10,000,000 characters" in str(call(unruly, "bad.much"))
    assert "binary data (image/png, 6 bytes)" in str(call(unruly, "bad.image"))
    assert call(unruly, "bad.fail") == "failed: ok"
    assert call(unruly, "bad.odd_name", "x") == "{'from': 'x'}"
    assert call(unruly, "bad.odd_name", "x", 3) == "{'from': 'x', 'a b': 3}"
    assert "wrong arguments at ['a b']" in str(call(unruly, "bad.odd_name", "x", 2))
    assert seconds_of(lambda: call(unruly, "bad.slow")) < SECONDS, "a result is checked at once, whatever its schema"
    with pytest.raises(EnvironmentBroken, match=r"bad died during a call of die(; its error output: out of luck)?$"):
        call(unruly, "bad.die")


def test_a_server_that_died_is_started_again_even_if_servers_are_kept(tmp_path: Path) -> None:
    kept = start(name_servers(tmp_path, STDIO), tmp_path, restart=False)
    task = kept.task
    assert task is not None
    with pytest.raises(EnvironmentBroken, match="bad died during a call of die"):
        call(kept, "bad.die")
    with pytest.raises(EnvironmentBroken, match=r"bad .* a request for its tools"):
        kept.reset(task)
    kept.reset(task)
    assert call(kept, "bad.fail") == "failed: ok"
    kept.close()


def test_a_call_on_a_closed_connection_is_refused() -> None:
    connection = McpConnection(McpServer(name="late", command=sys.executable, args=(str(UNRULY),)), 20)
    connection.close()
    with pytest.raises(EnvironmentBroken, match="the MCP server late was gone before a call of die"):
        connection.call("die", {})


def test_a_schema_with_a_reference_to_itself_can_be_used_and_a_malformed_target_is_refused() -> None:
    def tool(**schema: object) -> types.Tool:
        return types.Tool(name="t", input_schema={"type": "object", **schema})

    endless = tool(properties={"x": {"$ref": "#", "default": 1}})
    assert mcp_env.tool_of("s", "t", endless).arguments[0].default is None
    for target in ({"type": {"a": 1}}, {"anyOf": 3}):
        with pytest.raises(UnknownEnvironment, match="the MCP server s: a schema of t is not a valid JSON Schema"):
            mcp_env.tool_of("s", "t", tool(properties={"x": {"$ref": "#/y"}}, y=target))


def test_a_tool_with_an_invalid_schema_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    listed = [
        types.Tool(name=name, input_schema={"type": kind}) for name, kind in (("good", "object"), ("bad", "objct"))
    ]
    assert [tool.name for tool in mcp_env.tools_of("s", listed, (), "")] == ["good"]
    assert "the MCP server s: a schema of bad is not a valid JSON Schema: 'objct' is not valid" in caplog.text
    assert "plans cannot use this tool" in caplog.text


def test_a_tool_keeps_its_own_name_if_another_tool_is_renamed() -> None:
    names = ("get.user-name", "get_user_name", "answer", "class")
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in names]
    made = {tool.source.name: tool for tool in mcp_env.tools_of("server", tools, [], "")}
    assert [made[name].name for name in names] == ["get_user_name_2", "get_user_name", "answer_2", "class_"]
    assert made["get.user-name"].doc == "The server calls it get.user-name."
    assert not made["get_user_name"].doc


def test_a_server_named_like_an_action_of_every_environment_is_renamed(tmp_path: Path) -> None:
    environment = start(name_servers(tmp_path, STDIO, good="answer"), tmp_path)
    assert call(environment, "answer_2.read_file", "a.txt") == "alpha"
    assert call(environment, "answer", 1) == "The task ended with the answer 1."
    environment.close()


def test_a_secret_is_removed_as_json_text_and_from_cut_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANBOOK_TEST_KEY", 'pä"ss\\wörd\n' * 60)
    server = McpServer.model_validate({"name": "bad", **STDIO, "env": {"SERVER_KEY": "$PLANBOOK_TEST_KEY"}})
    connection = McpConnection(server, 30)
    assert connection.without_secrets(result_text(connection.call("quote", {}), "quote")) == '"***""***"'
    with pytest.raises(ToolFailed):
        connection.call("tell", {})
    with pytest.raises(EnvironmentBroken, match="died during a call of die") as caught:
        connection.call("die", {})
    assert "rd" not in str(caught.value).partition("last words")[2]
    connection.close()


def test_only_values_that_seem_secret_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANBOOK_TEST_MODE", "fail")
    env = {"SERVER_KEY": "secret", "LOG_MODE": "count", "MODE": "$PLANBOOK_TEST_MODE"}
    unruly = start(name_servers(tmp_path, STDIO | {"env": env}), tmp_path)
    assert call(unruly, "bad.secret") == "the key is ***"
    assert call(unruly, "bad.odd_name", "count secret") == "{'from': 'count ***'}"
    assert call(unruly, "bad.fail") == "failed: ok"
    unruly.close()


def test_values_of_headers_that_seem_secret_are_removed() -> None:
    headers = {"Authorization": f"Bearer {SECRET}", "Cookie": "session-42", "X-Mode": "count"}
    _, secrets = McpServer(name="far", url="https://localhost/mcp", headers=headers).fill_variables()
    assert {SECRET, "session-42"} < set(secrets)
    assert "count" not in secrets


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mcp:", "no server is named"),
        ("mcp:server 'a b", "the command cannot be read: No closing quotation"),
        ("mcp:/nowhere/at-all", "cannot be started: FileNotFoundError"),
        (f"mcp:{sys.executable} -c 'import sys; sys.exit(\"no licence\")'", "no licence"),
        ("mcp:http://127.0.0.1:9/mcp", "cannot be reached"),
        ("mcp:nowhere.json", "mcpServers"),
        ("mcp:sh -c 'echo hello'", "the MCP server sh cannot be started: .*Connection closed"),
        ("mcp:sh -c 'seq 1000 >&2'", r"Connection closed; its error output: \.\.\.\d*\n(\d+\n)+1000$"),
        ("mcp:server --key $PLANBOOK_NO_SUCH", "PLANBOOK_NO_SUCH is not set"),
    ],
)
def test_a_server_that_cannot_be_reached_is_refused_with_the_reason(name: str, message: str) -> None:
    assert "PLANBOOK_NO_SUCH" not in os.environ
    with pytest.raises(UnknownEnvironment, match=message):
        load_environment(name)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"command": "x", "env": {"PORT": 8080}}, r"mcpServers\.s\.env\.PORT: Input should be a valid string; "),
        ({"command": "x", "env": None}, r"mcpServers\.s\.env: Input should be an object; "),
        ({"url": "http://localhost:1/mcp", "headers": None}, r"mcpServers\.s\.headers: Input should be an object; "),
        ({"command": "x", "args": "a.py"}, r"mcpServers\.s\.args: Input should be a valid array; "),
        ({"type": "stdio"}, r"mcpServers\.s: it has neither command nor url; "),
        ({"command": "x", "disabled": True}, "mcpServers: no server is enabled; "),
        (None, "mcpServers: no server is enabled; "),
    ],
)
def test_a_faulty_server_file_is_refused_with_its_name_and_the_field(
    entry: object, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"s": entry} if entry else {}}))
    with pytest.raises(UnknownEnvironment, match=rf"servers\.json: {message}"):
        load_environment(f"mcp:{file}")


def test_a_server_starts_in_its_folder_and_a_disabled_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text((EXAMPLES / "files_server.py").read_text())
    here = {"command": sys.executable, "args": ["server.py"], "cwd": str(tmp_path)}
    off = {"command": "/nowhere/at-all", "disabled": True}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"here": here, "off": off}}))
    assert "read_file" in load_environment(f"mcp:{tmp_path}/servers.json").actions


FROZEN = """
import os, signal, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("frozen")
@server.tool()
def freeze() -> None:
    with open(sys.argv[1], "w") as file:
        print(os.getpid(), file=file)
    os.kill(os.getpid(), signal.SIGSTOP)
server.run()
"""


def test_a_server_in_the_middle_of_a_call_is_killed_by_the_second_ctrl_c(tmp_path: Path) -> None:
    """The server is stopped by a signal, so that it does not notice that its standard input is closed."""
    (tmp_path / "server.py").write_text(FROZEN)
    (tmp_path / "plan.py").write_text("agent.freeze()")
    (tmp_path / "tasks.yaml").write_text("tasks: [{id: a, goal: Freeze.}]")
    environment = f"mcp:{sys.executable} {tmp_path}/server.py {tmp_path}/pid"
    arguments = ["exec", f"{tmp_path}/plan.py", "--env", environment, "-o", f"tasks={tmp_path}/tasks.yaml"]
    with executing.start(arguments) as command:
        server = int(executing.wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text()))
        for _ in range(2):
            assert executing.alive(server)
            command.send_signal(signal.SIGINT)
            time.sleep(0.5)
        assert command.wait(timeout=60) == 130
    executing.wait_until(lambda: not executing.alive(server))


def test_a_silent_server_is_stopped_at_the_start_timeout_of_its_file(tmp_path: Path) -> None:
    server = {"command": "sleep", "args": ["1000"], "start_timeout": 1}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"sleep": server}}))
    start = time.monotonic()
    (silent,) = read_servers(f"{tmp_path}/servers.json")
    with pytest.raises(EnvironmentBroken, match=r'sleep was not ready within 1 s; .* "start_timeout": SECONDS'):
        McpConnection(silent.fill_variables()[0], 30)
    assert time.monotonic() - start < 25


@pytest.mark.parametrize(
    "command",
    [
        f"server --api-key {SECRET}",
        f"server --token={SECRET}",
        f"env SERVER_KEY={SECRET} server",
        "server ghp_0123456789abcdef",
        f"server --header 'Authorization: Bearer {SECRET}'",
        f"server --header X-Api-Key:{SECRET}",
        f"https://me:{SECRET}@localhost/mcp",
        f"https://localhost/mcp?api_key={SECRET}",
        "https://localhost/s/0123456789abcdef0123456789/mcp",
    ],
)
def test_a_secret_in_a_command_is_refused(command: str) -> None:
    with pytest.raises(UnknownEnvironment, match=r"write '\$NAME' in its place") as caught:
        load_environment(f"mcp:{command}")
    assert SECRET not in str(caught.value)


HEADERS = ["--header", "Cookie: session=abcd1234; csrf=zzzz9999, a1b2c3==", "--header=Authorization: Bearer abcd5678"]
URLS = ["https://me:pass%2Fword@localhost/mcp?api_key=ab%2Bcd+ef", "http://[broken", "--token=abcdef"]
HARMLESS = """--key $KEY
--keys
--sort-key name
--max-token 4000
--key-file /keys/a
A=b c
-v /home/me/key:/root/key
vault-secret:latest
--header Authorization:Bearer\t$TOKEN"""


@pytest.mark.parametrize(
    ("words", "secrets"),
    [
        *((["server", *options.split(" ")], set()) for options in HARMLESS.splitlines()),
        (HEADERS, {"abcd1234", "zzzz9999", "a1b2c3==", "abcd5678"}),
        (URLS, {"pass%2Fword", "pass/word", "ab%2Bcd+ef", "ab+cd ef", "abcdef"}),
    ],
)
def test_exactly_the_secrets_in_a_command_are_found(words: list[str], secrets: set[str]) -> None:
    assert secrets_in_command(words) == secrets
