"""A store in PostgreSQL: other writers, lost connections, passwords, and faulty databases."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from planbook.envs import MissingRequirement
from planbook.errors import BadArgument, BadRun
from planbook.store import Schema, Store, create_schema, without_password
from tests.postgres import Server


@pytest.fixture
def schema(postgres: Server) -> Schema:
    return create_schema(postgres.url)


@pytest.fixture
def store(schema: Schema) -> Iterator[Store]:
    with closing(Store(schema)) as opened:
        yield opened


def test_a_reader_waits_for_an_id_that_is_committed_late(schema: Schema, store: Store) -> None:
    """Ids are assigned before the commit, and a reader that has seen a later id never asks for an earlier one."""
    add = SQL("INSERT INTO {} (scope, kind, n, body, at) VALUES ('task/0', 'act', 0, '{{}}', 0)")
    read: list[tuple[int, str]] = []
    with psycopg.connect(schema.url) as late:
        late.execute(add.format(Identifier(schema.schema, "event")))
        store.put("task/1", "act", 0, {})
        assert [event.scope for event in store.events()] == ["task/1"], "the second id is there, the first is not"
        reader = threading.Thread(target=lambda: read.extend((id, event.scope) for id, event in store.events_after(0)))
        reader.start()
        reader.join(0.5)
        assert reader.is_alive(), "it does not wait for the first"
    reader.join(30)
    assert read == [(1, "task/0"), (2, "task/1")]


def test_two_runs_in_one_database_are_independent(postgres: Server, store: Store) -> None:
    store.claim()
    with closing(Store(create_schema(postgres.url))) as other:
        other.claim()
        with store.lock(0), other.lock(0):
            other.put("task/0", "act", 0, {})
    assert list(store.events()) == []


def test_a_lost_connection_is_reported_in_one_line_and_loses_no_event(
    postgres: Server, schema: Schema, store: Store
) -> None:
    store.put("task/0", "act", 0, {"before": True})
    postgres.execute(b"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
    for number in (1, 2):
        with pytest.raises(BadRun, match=r"read or written: .* check server, database and PGPASSWORD$") as raised:
            store.put("task/0", "act", number, {})
        assert "\n" not in str(raised.value)
        assert postgres.password not in str(raised.value)
    with closing(Store(schema)) as again:
        assert [event.body for event in again.events()] == [{"before": True}]


def test_a_dropped_schema_is_reported(postgres: Server, schema: Schema) -> None:
    postgres.execute(SQL("DROP SCHEMA {} CASCADE").format(Identifier(schema.schema)))
    for to_write in (False, True):
        with pytest.raises(BadRun, match=r"cannot be read or written: .* does not exist"):
            Store(schema, to_write=to_write)


def test_a_password_is_neither_written_nor_printed(postgres: Server, schema: Schema) -> None:
    assert postgres.password not in f"{schema!r} {schema} {schema.redacted()}"
    assert without_password("postgresql://me:se%40cret@host:5/db?password=x&sslmode=require&host=/run/a") == (
        "postgresql://me@host:5/db?sslmode=require&host=/run/a"
    )
    assert without_password("postgresql://me:what?#@host/db?sslmode=require&password=x") == (
        "postgresql://me@host/db?sslmode=require"
    )
    assert without_password("postgresql:///db?host=/run/a") == "postgresql:///db?host=/run/a"


def test_a_missing_or_wrong_password_is_reported(
    postgres: Server, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSFILE", "/nowhere")
    with pytest.raises(BadRun, match=r"no password supplied; check server, database and PGPASSWORD"):
        Store(schema.redacted())
    with pytest.raises(BadRun, match="password authentication failed"):
        create_schema(postgres.url_of("postgres", password="wrong"))
    monkeypatch.setenv("PGPASSWORD", postgres.password)
    with closing(Store(schema.redacted())) as opened:
        opened.put("task/0", "act", 0, {})


def test_faulty_urls_are_reported(postgres: Server) -> None:
    with pytest.raises(BadArgument, match="write postgresql://USER@HOST/DATABASE"):
        create_schema("mysql://me@host/db")
    with pytest.raises(BadRun, match='database "nowhere" does not exist; check server, database'):
        create_schema(postgres.url_of("nowhere"))
    with pytest.raises(BadRun, match="Connection refused"):
        create_schema("postgresql://me@127.0.0.1:1/db")
    with pytest.raises(BadRun, match=r"^postgresql://me@host/db\?nothing=1 .* cannot be read or written: .*nothing"):
        create_schema("postgresql://me:secret@host/db?nothing=1")


def test_a_refused_statement_is_reported_and_can_be_repeated(postgres: Server, schema: Schema, store: Store) -> None:
    full = "BEGIN RAISE EXCEPTION 'could not extend file: no space left' USING ERRCODE = 'disk_full'; END"
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $${full}$$".encode())
        event = Identifier(schema.schema, "event")
        connection.execute(SQL("CREATE TRIGGER filled BEFORE INSERT ON {} EXECUTE FUNCTION fill()").format(event))
        with pytest.raises(BadRun, match=r"no space left; check server, database and PGPASSWORD$"):
            store.put("task/0", "act", 0, {})
        connection.execute(b"DROP FUNCTION fill CASCADE")
    store.put("task/0", "act", 0, {})


@pytest.mark.parametrize("statement", ["CREATE SCHEMA", "CREATE TABLE"])
def test_a_server_that_dies_while_a_schema_is_created_is_reported(postgres: Server, statement: str) -> None:
    name = f"mortal_{statement[-5:].lower()}"
    postgres.execute(f"CREATE DATABASE {name}".encode())
    with psycopg.connect(postgres.url_of(name), autocommit=True) as connection:
        dies = "BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END"
        connection.execute(f"CREATE FUNCTION die() RETURNS event_trigger LANGUAGE plpgsql AS '{dies}'".encode())
        when = f"ON ddl_command_start WHEN TAG IN ('{statement}') EXECUTE FUNCTION die()"
        connection.execute(f"CREATE EVENT TRIGGER at_once {when}".encode())
    with pytest.raises(BadRun, match="cannot be read or written"):
        create_schema(postgres.url_of(name))


def test_a_missing_psycopg_is_reported_with_the_command_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "planbook.store.postgres", raising=False)
    monkeypatch.delattr("planbook.store.postgres", raising=False)
    with pytest.raises(MissingRequirement, match=r"-m pip install 'psycopg"):
        create_schema("postgresql://me@host/db")


@pytest.mark.deep
def test_the_test_server_ends_when_the_tests_are_killed() -> None:
    begin = (
        "import os, signal; from tests.postgres import need_postgres, running\n"
        "with running(need_postgres()) as server:\n"
        "    print(server.process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", begin], capture_output=True, text=True, cwd=Path(__file__).parents[3]
    )
    gone = Path(f"/proc/{int(killed.stdout)}")
    for _ in range(100):
        if not gone.exists():
            break
        threading.Event().wait(0.1)
    assert not gone.exists()
