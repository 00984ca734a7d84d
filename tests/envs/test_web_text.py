"""Addresses and texts of web pages, without a browser."""

import re

from hypothesis import given, strategies as st

from planbook.envs.web.accessibility import AccessibilityNode, quote
from planbook.envs.web.environment import WebOptions, address_policy
from planbook.envs.web.page import TabHistory, describe_change, number_duplicates
from planbook.envs.web.sites import BLANK, AddressPolicy, SiteNames
from planbook.envs.web.tasks import WebTask


def test_public_addresses_exclude_this_machine_and_private_networks() -> None:
    policy = AddressPolicy((), allows_internet=True)
    for url in ("http://example.org/a", "https://a.shop.example:8443/"):
        assert not policy.refusal(url)
    near = "localhost a.localhost 127.0.0.2 10.1.2.3 [::1] [fe80::1] 169.254.169.254 printer.local 0.0.0.0"
    near += " localhost. printer.local. 100.64.0.1"
    for url in (*(f"http://{host}/" for host in near.split()), "ftp://example.org/", "http://user@/", "http://a:port/"):
        assert policy.refusal(url), url
    paused = [re.compile(pattern.replace("[", r"\[").replace("*", ".*")) for pattern in policy.request_patterns()]
    for host in (*near.split(), "198.18.0.1", "192.0.0.1", "printer.internal.:80"):
        assert any(pattern.fullmatch(f"http://{host}/") for pattern in paused), host
    assert not any(pattern.fullmatch("https://a.shop.example:8443/") for pattern in paused)


def test_a_pattern_with_a_port_allows_only_that_port() -> None:
    policy = AddressPolicy(("127.0.0.1:8000", "*.example.org"))
    assert not policy.refusal("http://127.0.0.1:8000/x")
    assert not policy.refusal("https://a.example.org/")
    assert policy.refusal("http://127.0.0.1:8001/") == (
        "127.0.0.1:8001 may not be visited here; allowed: 127.0.0.1:8000, *.example.org"
    )
    assert policy.refusal("http://example.org.evil.net/")


def own(start: str) -> WebTask:
    return WebTask(id="own", type="own", kind="look_up", goal="g", start=start)


def test_the_allowed_addresses_depend_on_the_start() -> None:
    assert address_policy(WebOptions(), own("https://example.org/")) == AddressPolicy(
        ("example.org:443",), allows_internet=True
    )
    assert address_policy(WebOptions(), own("http://127.0.0.1:81/")) == AddressPolicy(("127.0.0.1:81",))
    assert address_policy(WebOptions(), own("about:blank")) == AddressPolicy((), allows_internet=True)
    more = WebOptions(allowed=("*.org",), sites={"shop": "http://localhost:7770"})
    assert address_policy(more, own("https://a.net/")) == AddressPolicy(("a.net:443", "localhost:7770", "*.org"))


def test_names_of_sites_replace_their_addresses() -> None:
    names = SiteNames({"trac": "http://127.0.0.1:81"})
    assert names.shorten("Address: http://127.0.0.1:81/wiki") == "Address: http://trac/wiki"
    assert names.shorten("allowed: 127.0.0.1:81") == "allowed: trac"
    assert names.resolve("http://trac/wiki", "") == "http://127.0.0.1:81/wiki"
    assert names.resolve("http://trac?a", "") == "http://127.0.0.1:81?a"
    assert names.resolve("http://tractor.org/", "") == "http://tractor.org/"
    assert names.resolve("/wiki", "http://127.0.0.1:81/a/b") == "http://127.0.0.1:81/wiki"


@given(st.text())
def test_a_quoted_text_is_one_printable_line(text: str) -> None:
    written = quote(text, 50)
    assert len(written.splitlines()) == 1
    assert written.isprintable()
    assert written[0] == written[-1]


def test_the_text_of_a_node_is_its_name_or_the_names_inside() -> None:
    node = AccessibilityNode("list", "", 0, "f", children=[AccessibilityNode("text", name, 0, "f") for name in "ab"])
    for _ in range(3_000):
        node = AccessibilityNode("listitem", "", 0, "f", children=[node])
    assert node.text() == "a b"
    assert AccessibilityNode("button", "Ok", 0, "f", children=[node]).text() == "Ok"


def test_nodes_with_the_same_role_and_name_are_numbered() -> None:
    root = AccessibilityNode("list", "", 0, "f", children=[AccessibilityNode("text", name, 0, "f") for name in "aba"])
    number_duplicates(root)
    assert [node.ordinal for node in root.children] == [0, 0, 1]


def test_only_an_empty_page_that_others_follow_is_left_out_of_the_history() -> None:
    blank, page = {"url": BLANK}, {"url": "http://a.org/"}
    assert TabHistory.from_devtools({"entries": [blank], "currentIndex": 0}) == TabHistory([BLANK], 0)
    assert TabHistory.from_devtools({"entries": [blank, page], "currentIndex": 1}) == TabHistory(["http://a.org/"], 0)


def test_a_cut_text_states_the_missing_length() -> None:
    assert quote("a" * 30, 10) == "'aaaaaaaaaa... (+20 characters)'"


def test_a_change_of_the_page_is_summarised() -> None:
    head = "Address: http://a/\nTitle: 'A'\nIn view (all of it):"
    assert describe_change(f"{head}\n[1] link 'a'", f"{head}\n[1] link 'a' focused") == "nothing changed in view"
    assert describe_change(f"{head}\n[1] link 'a'", f"{head}\n[2] link 'b'") == "new: [2] link 'b'; gone: [1] link 'a'"
    summary = describe_change(
        head, f"A dialog (alert) said 'x'.\n{head.replace('http://a/', 'http://b/')}\n[3] link 'c'"
    )
    assert summary == "A dialog (alert) said 'x'; now at http://b/, 'A'"
    assert len(describe_change(head, "\n".join([head, *(f"[{each}] link 'long'" for each in range(500))]))) < 400
