"""Addresses and texts of web pages, without a browser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbook.envs.web.accessibility import quoted
from planbook.envs.web.addresses import AddressPolicy, Names
from planbook.envs.web.environment import WebOptions, policy_of
from planbook.envs.web.page import change
from planbook.envs.web.tasks import WebTask


@pytest.mark.parametrize(
    ("url", "open_"),
    [
        ("http://example.org/a", True),
        ("https://a.shop.example:8443/", True),
        ("http://localhost/", False),
        ("http://a.localhost/", False),
        ("http://127.0.0.2/", False),
        ("http://10.1.2.3/", False),
        ("http://[::1]/", False),
        ("http://[fe80::1]/", False),
        ("http://169.254.169.254/latest/meta-data", False),
        ("http://printer.local/", False),
        ("http://0.0.0.0/", False),
        ("ftp://example.org/", False),
        ("http://user@/", False),
        ("http://example.org:notaport/", False),
    ],
)
def test_the_internet_is_not_this_machine(url: str, open_: bool) -> None:
    assert bool(AddressPolicy((), public=True).why_not(url)) is not open_


def test_a_pattern_with_a_port_means_that_port_only() -> None:
    gate = AddressPolicy(("127.0.0.1:8000", "*.example.org"))
    assert not gate.why_not("http://127.0.0.1:8000/x")
    assert not gate.why_not("https://a.example.org/")
    assert gate.why_not("http://127.0.0.1:8001/") == (
        "127.0.0.1:8001 may not be visited here; allowed is 127.0.0.1:8000, *.example.org"
    )
    assert gate.why_not("http://example.org.evil.net/")


def own(start: str) -> WebTask:
    return WebTask(id="own", type="own", kind="look_up", goal="g", start=start)


def test_what_may_be_visited_follows_from_the_start() -> None:
    assert policy_of(WebOptions(), own("https://example.org/")) == AddressPolicy(("example.org:443",), public=True)
    assert policy_of(WebOptions(), own("http://127.0.0.1:81/")) == AddressPolicy(("127.0.0.1:81",))
    more = WebOptions(allowed=("*.org",), sites={"shop": "http://localhost:7770"})
    assert policy_of(more, own("https://a.net/")) == AddressPolicy(("a.net:443", "localhost:7770", "*.org"))


def test_names_of_sites_stand_for_their_addresses() -> None:
    names = Names({"trac": "http://127.0.0.1:81"})
    assert names.short("Address: http://127.0.0.1:81/wiki") == "Address: http://trac/wiki"
    assert names.real("http://trac/wiki") == "http://127.0.0.1:81/wiki"
    assert names.real("http://trac?a") == "http://127.0.0.1:81?a"
    assert names.real("http://tractor.org/") == "http://tractor.org/"
    assert names.address("/wiki", "http://127.0.0.1:81/a/b") == "http://127.0.0.1:81/wiki"


@given(st.text())
def test_a_quoted_text_is_one_line_of_what_can_be_seen(text: str) -> None:
    written = quoted(text, 50)
    assert len(written.splitlines()) == 1
    assert written.isprintable()
    assert written[0] == written[-1]


def test_a_cut_text_says_how_much_is_missing() -> None:
    assert quoted("a" * 30, 10) == "'aaaaaaaaaa... (+20 characters)'"


def test_a_change_is_told_in_short() -> None:
    head = "Address: http://a/\nTitle: 'A'\nIn view (all of it):"
    assert change(f"{head}\n[1] link 'a'", f"{head}\n[1] link 'a' focused") == "nothing changed in view"
    assert change(f"{head}\n[1] link 'a'", f"{head}\n[2] link 'b'") == "new: [2] link 'b'; gone: [1] link 'a'"
    told = change(head, f"A dialog (alert) said 'x'.\n{head.replace('http://a/', 'http://b/')}\n[3] link 'c'")
    assert told == "A dialog (alert) said 'x'; now at http://b/, 'A'"
    assert len(change(head, "\n".join([head, *(f"[{each}] link 'long'" for each in range(500))]))) < 400
