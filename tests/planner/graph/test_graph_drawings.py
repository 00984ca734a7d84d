"""Drawings: whole, escaped, self-contained, and with nothing on top of anything else."""

import json
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.planner.graph import GraphFile, Node, graph_of, read_graph
from planbook.planner.graph.drawing import mermaid, svg
from planbook.planner.graph.layout import lay_out
from planbook.planner.graph.picture import picture

DRIVE = Path(__file__).parent / "drive.yaml"
SVG = "{http://www.w3.org/2000/svg}"
EVIL = '</title><script>alert(\'x\')</script> "]; click n0 "javascript:alert(1)" & <img src=x> \u202e ]]>'


def boxes(drawn: str) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, right and bottom of every box, by the first line in it."""
    found = {}
    for group in ElementTree.fromstring(drawn).iter(f"{SVG}g"):
        if "box" in group.get("class", ""):
            rect = group.findall(f"{SVG}rect")[-1]
            left, top, width, height = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
            found[str(group.findtext(f"{SVG}text"))] = (left, top, left + width, top + height)
    return found


def test_branches_loops_and_conditions_are_in_the_picture() -> None:
    shown = picture(read_graph(DRIVE))
    assert {box.name: box.kind for box in shown.boxes} == {
        "users": "node", "users:user": "loop", "signs": "node", "risk": "node", "reroute": "branch", "act": "node",
        "log": "node",
    }  # fmt: skip
    arrows = {(arrow.source, arrow.target): (arrow.kind, arrow.label) for arrow in shown.arrows}
    assert arrows["users", "users:user"] == ("branch", "for each user of answer.users")
    assert arrows["risk", "reroute"] == ("branch", "if it is yes")
    assert arrows["users:user", "risk"] == arrows["reroute", "act"] == ("told", "")
    assert "if risk is yes" in next(box for box in shown.boxes if box.name == "log").lines
    assert ("risk", "log") not in arrows, "an order that follows from other arrows is not drawn"
    drawn = svg(read_graph(DRIVE))
    for text in ("if it is yes", "if risk is yes", "every 3 passes", "asks careful", "brake, go on, turn"):
        assert text in drawn


def test_the_mermaid_text_has_every_node_and_edge() -> None:
    lines = mermaid(read_graph(DRIVE)).splitlines()
    assert lines[0] == "flowchart TD"
    assert '  n1[/"users:user<br/>yes/no"/]' in lines
    assert '  n3 ==>|"if it is yes"| n4' in lines
    assert len([line for line in lines if "-->" in line or "==>" in line]) == len(picture(read_graph(DRIVE)).arrows)


def test_nothing_in_a_graph_gets_out_of_its_place() -> None:
    """Names cannot hold it; prompts, conditions, fields, choices, roles and the title can."""
    nodes = {
        "a": {"prompt": EVIL, "expect": {EVIL: "text"}, "model": EVIL},
        "b": {"prompt": "x", "expect": 'one of: x"y, <b>', "when": {"a": {"exists": True}}},
        "c": {"prompt": "x", "when": {"db.k": EVIL}},
    }
    text = json.dumps({"about": EVIL, "nodes": nodes, "database": {"k": "x"}})
    file = graph_of(text, Path("g.yaml"))
    drawn = svg(file)
    tree = ElementTree.fromstring(drawn)
    assert {each.tag.removeprefix(SVG) for each in tree.iter()} == {
        "svg", "title", "style", "defs", "marker", "path", "text", "g", "rect",
    }  # fmt: skip
    assert not re.search(r"(href|src|url\((?!#)|@import|on\w+=)", re.sub(r">[^<]*<", "><", drawn))
    for line in mermaid(file).splitlines()[1:]:
        assert re.fullmatch(r'  n\d+(\W*"[^"]*"\W*)?( [-.=]+>(\|"[^"]*"\|)? n\d+)?', line), line
        assert "click" not in line.split('"')[0]


def test_control_characters_do_not_break_the_image() -> None:
    file = GraphFile(name="x", about="a\x00\x0b\ud800b", nodes=(Node("a", "\x1b[31m"),))
    assert ElementTree.fromstring(svg(file)).findtext(f"{SVG}title") == "ab"


def test_an_image_follows_light_and_dark_and_loads_nothing() -> None:
    drawn = svg(read_graph(DRIVE))
    assert "prefers-color-scheme:dark" in drawn
    assert re.findall(r"https?://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]


@st.composite
def graphs(draw: st.DrawFn) -> GraphFile:
    count = draw(st.integers(1, 30))
    names = [f"node_{number}{'x' * draw(st.integers(0, 12))}" for number in range(count)]
    nodes = [Node(names[0], "?")]
    for number, name in enumerate(names[1:], 1):
        after = draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=4))
        nodes.append(Node(name, "?", after=tuple(after)))
    return GraphFile(name="g", about="", nodes=tuple(nodes))


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_no_box_lies_on_another_and_every_arrow_leads_down(file: GraphFile) -> None:
    placed = boxes(svg(file))
    assert len(placed) == len(file.nodes)
    for one, other in combinations(placed.values(), 2):
        apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
        assert apart
    for edge in file.graph().edges():
        assert placed[edge.source][3] < placed[edge.target][1]
    assert svg(file) == svg(file)


def test_a_graph_with_many_implied_arrows_says_so_in_its_boxes() -> None:
    names = [f"n{number}" for number in range(12)]
    file = GraphFile("g", "", tuple(Node(name, "?", after=tuple(names[:place])) for place, name in enumerate(names)))
    shown = picture(file)
    assert len(shown.arrows) == 11
    assert shown.boxes[-1].lines == ("told 10 more",)
    assert "It is told these, too: n0, n1," in shown.boxes[-1].tooltip


@pytest.mark.parametrize("width", [10.0, 300.0])
def test_a_chain_is_straight_and_a_long_edge_goes_around(width: float) -> None:
    layers = [["a"], ["b"], ["c"]]
    layout = lay_out(layers, [("a", "b"), ("b", "c")], dict.fromkeys("abc", width))
    assert set(layout.places.values()) == {width / 2}
    around = lay_out(layers, [("a", "b"), ("b", "c"), ("a", "c")], dict.fromkeys("abc", width))
    (_, _), (level, passing), (_, _) = around.routes["a", "c"]
    assert level == 1
    assert abs(passing - around.places["b"]) > width / 2
