"""The Trac site: its initial content, resets, and when its server starts and ends."""

import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from planbook.envs.errors import EnvironmentBroken, MissingRequirement
from planbook.envs.web import sites
from planbook.envs.web.sites import DATABASE, SEEDED_DATABASE, TracSite, read_state, requirements
from planbook.envs.web.tasks import ServerCheck, load_tasks
from tests.command import ROOT
from tests.executing import alive, wait_until
from tests.trac import Visitor, need_trac


@pytest.fixture(scope="module")
def site() -> Iterator[TracSite]:
    need_trac()
    found = TracSite()
    yield found
    found.close()


def dump(site: TracSite) -> list[str]:
    """Return the whole database as SQL statements."""
    with sqlite3.connect(site.folder / DATABASE) as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


EDITS: dict[str, Callable[[Visitor, int], str]] = {
    "comment": lambda visitor, n: visitor.change_ticket(n, comment=f"Word {n}"),
    "field": lambda visitor, n: visitor.change_ticket(n, field_milestone="Someday", field_priority="trivial"),
    "close": lambda visitor, n: visitor.change_ticket(n, action="resolve", action_resolve_resolve_resolution="wontfix"),
    "create": lambda visitor, n: visitor.send("/newticket", field_summary=f"New {n}", submit="Create ticket"),
    "write": lambda visitor, n: visitor.write_page(f"Page{n}", f"text {n}", 0),
    "milestone": lambda visitor, n: visitor.send("/milestone", action="edit", name=f"M{n}", add="Add"),
    "component": lambda visitor, n: visitor.send("/admin/ticket/components", name=f"Part{n}", add="Add"),
    "preference": lambda visitor, n: visitor.send("/prefs", name=f"Robin {n}", action="save"),
    "delete": lambda visitor, n: visitor.send("/wiki/OnCall", action="delete", delete_version=""),
}


@pytest.mark.deep
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(1, 108)), min_size=1, max_size=4))
def test_a_reset_restores_every_row(site: TracSite, edits: list[tuple[str, int]]) -> None:
    site.reset()
    seeded = dump(site)
    visitor = Visitor(site.url)
    EDITS["comment"](visitor, 84)
    for name, number in edits:
        with suppress(HTTPError):  # a ticket cannot be closed, or a page deleted, twice
            EDITS[name](visitor, number)
    assert dump(site) != seeded
    site.reset()
    assert dump(site) == seeded
    assert site.changes() == {}


@pytest.mark.parametrize(
    ("edit", "place", "shown_at", "word"),
    [
        ("comment", "ticket/84/comment/2", "/ticket/84", "Word 84"),
        ("field", "ticket/84/milestone", "/milestone/Someday", "thermal"),
        ("create", "ticket/109/summary", "/query?status=new&order=id&desc=1", "New 84"),
        ("write", "wiki/Page84", "/wiki/TitleIndex", "Page84"),
        ("milestone", "milestone/M84", "/newticket", "M84"),
        ("component", "component/Part84", "/newticket", "Part84"),
    ],
)
def test_a_reset_removes_edits_from_pages_and_caches(
    site: TracSite, edit: str, place: str, shown_at: str, word: str
) -> None:
    site.reset()
    visitor = Visitor(site.url)
    before = visitor.page(shown_at)
    EDITS[edit](visitor, 84)
    assert place in site.changes()
    after = visitor.page(shown_at)
    assert before != after
    site.reset()
    EDITS[edit](Visitor(site.url), 3)  # sets the counters of Trac's caches to the same numbers
    page_after_reset = Visitor(site.url).page(shown_at)
    assert word not in page_after_reset or word in before


def test_changes_map_places_to_values(site: TracSite) -> None:
    site.reset()
    visitor = Visitor(site.url)
    assert "logged in as" in (page := visitor.page("/wiki"))
    assert "robin" in page
    visitor.change_ticket(41, action="reassign", action_reassign_reassign_owner="priya")
    visitor.send("/wiki/OnCall", action="delete", delete_version="")
    assert site.changes() == {"ticket/41/owner": "priya", "ticket/41/status": "assigned", "wiki/OnCall": None}


def test_a_reset_restarts_the_clock_of_the_site(site: TracSite) -> None:
    pages = []
    for _ in range(2):
        site.reset()
        visitor = Visitor(site.url)
        EDITS["comment"](visitor, 84)
        with sqlite3.connect(site.folder / DATABASE) as connection:
            pages.append(connection.execute("SELECT max(changetime) FROM ticket").fetchone()[0])
        connection.close()
    assert pages[0] == pages[1]
    assert time.gmtime(pages[0] / 1_000_000)[:3] == (2031, 3, 17)


@pytest.mark.deep
def test_sites_are_independent(site: TracSite) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: TracSite(), range(2))
    assert len({site.url, one.url, other.url}) == 3
    EDITS["comment"](Visitor(one.url), 5)
    assert one.changes()
    assert other.changes() == {}
    one.close()
    one.close()
    assert not one.folder.exists()
    assert "Map tiles" in Visitor(other.url).page("/ticket/7")
    other.close()


def test_a_dead_server_is_replaced_by_a_reset(site: TracSite) -> None:
    EDITS["comment"](Visitor(site.url), 7)
    folder = site.folder
    site.server.kill()
    site.server.wait()
    site.reset()
    assert not folder.exists()
    assert site.changes() == {}
    assert "Map tiles" in Visitor(site.url).page("/ticket/7")


def test_a_server_that_dies_during_a_reset_breaks_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    need_trac()
    site = TracSite()
    site.server.kill()
    site.server.wait()
    monkeypatch.setattr(site.server, "poll", lambda: None)
    with pytest.raises(EnvironmentBroken, match="Trac's server does not answer"):
        site.reset()
    assert not site.folder.exists()


def test_a_server_that_cannot_start_breaks_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    need_trac()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sites, "PROGRAM_FILE", tmp_path / "none.py")
    with pytest.raises(EnvironmentBroken, match=r"Trac's server does not answer: .*none.py"):
        TracSite()
    assert list(tmp_path.iterdir()) == []


def test_missing_trac_is_reported_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trac", None)
    with pytest.raises(MissingRequirement, match=r"-m pip install .*'trac"):
        TracSite()
    assert [each.found for each in requirements()] == [None]


OWNER = """
import sys, time
from planbook.envs.web.sites import TracSite
def wait(site):
    print(site.server.pid, site.folder, flush=True)
    time.sleep(60)
if "creating" in sys.argv:
    TracSite._read_answer = wait
wait(TracSite())
"""


@pytest.mark.parametrize("state", ["creating", "serving"])
def test_the_server_and_its_folder_are_removed_with_their_killed_owner(state: str) -> None:
    need_trac()
    owner = subprocess.Popen([sys.executable, "-c", OWNER, state], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert owner.stdout is not None
    server, folder = owner.stdout.readline().split()
    assert alive(int(server))
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until(lambda: not Path(folder).exists() and not alive(int(server)))


def test_shipped_tasks_name_existing_places(site: TracSite) -> None:
    """A task that misspells a place could not be solved. Places that the task creates are allowed."""
    seeded = read_state(site.folder / SEEDED_DATABASE)
    new = ("ticket/109/", "wiki/NightArrivals", "wiki/BlockerList")
    for task in load_tasks():
        for check in task.checks:
            if isinstance(check, ServerCheck):
                unknown = [place for place in check.changes if place not in seeded and not place.startswith(new)]
                assert [place for place in unknown if "/comment/" not in place and "/resolution" not in place] == []
                assert [place for place, value in check.changes.items() if seeded.get(place) == value] == []
