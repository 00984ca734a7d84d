"""Drawings of graphs as Mermaid text and by Graphviz are complete, and all text in them is escaped."""

import json
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from planbook.envs import MissingRequirement
from planbook.planner.errors import GraphError
from planbook.planner.graph.drawing import dot, mermaid, svg
from planbook.planner.graph.file import graph_of, read_graph
from planbook.planner.graph.node import GraphFile
from tests.planner.graph.graph_kit import make_node

DRIVE = Path(__file__).parent / "drive.yaml"
EVIL = '</title><script>alert(\'x\')</script> "]; click n0 "javascript:alert(1)" & <img src=x> \\" \u202e ]]>'
needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


@pytest.fixture
def evil() -> GraphFile:
    """A graph with hostile text in every field that may contain any text."""
    nodes = {
        "a": {"prompt": EVIL, "expect": {EVIL: "text"}, "model": EVIL},
        "b": {"prompt": "x\ny", "expect": 'one of: x"y, <b>', "when": "a is defined"},
        "c": {"prompt": "x", "when": "db.k == '\"]; click n0'"},
    }
    return graph_of(json.dumps({"about": EVIL, "nodes": nodes, "database": {"k": "x"}}), Path("g.yaml"))


def test_the_mermaid_text_has_every_node_and_edge() -> None:
    lines = mermaid(read_graph(DRIVE)).splitlines()
    assert lines[0] == "flowchart TD"
    assert '  n1[/"users:user<br/>yes/no"/]' in lines
    assert '  n0 ==>|"for each user of answer.users"| n1' in lines
    assert '  n3 ==>|"if answer #61;#61; #34;yes#34;"| n4' in lines
    assert '  n6["log<br/>if risk #61;#61; #34;yes#34;"]' in lines
    assert len([line for line in lines if "-->" in line or "==>" in line]) == 9


def test_no_text_of_a_graph_escapes_its_quotes(evil: GraphFile) -> None:
    for line in mermaid(evil).splitlines()[1:]:
        assert re.fullmatch(r'  n\d+(\W*"[^"]*"\W*)?( [-.=]+>(\|"[^"]*"\|)? n\d+)?', line), line
        assert "click" not in line.split('"')[0]
    text = r'"(?:[^"\\]|\\.)*"'
    for line in dot(evil).splitlines()[3:-1]:
        box = rf"  n\d \[label={text}, style={text}, fillcolor={text}\];"
        assert re.fullmatch(rf"{box}|  n\d -> n\d \[label={text}, style=\w+\];", line), line


def test_the_title_is_what_the_graph_is_about_or_else_its_name_without_characters_that_xml_forbids() -> None:
    nodes = {"a": make_node("a", "?", model="\x1b[31m")}
    assert 'label="Plans a trip."' in dot(GraphFile(name="trip", about="Plans a\x00\x0b\ud800 trip.", nodes=nodes))
    assert 'label="trip"' in dot(GraphFile(name="trip", nodes=nodes))
    assert '\\nasks [31m"' in dot(GraphFile(name="trip", nodes=nodes))


def test_implied_arrows_are_counted_in_the_boxes() -> None:
    names = [f"n{number}" for number in range(12)]
    nodes = {name: make_node(name, "?", after=tuple(names[:index])) for index, name in enumerate(names)}
    drawn = mermaid(GraphFile(name="g", nodes=nodes))
    assert drawn.count("-->") == 11
    assert '["n11<br/>10 more answers"]' in drawn


def test_a_missing_or_failing_graphviz_is_an_error_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingRequirement, match=r"install it .* or draw Mermaid text"):
        svg(read_graph(DRIVE))
    (tmp_path / "dot").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "dot").chmod(0o755)
    with pytest.raises(GraphError, match="Graphviz could not draw the graph"):
        svg(read_graph(DRIVE))


@needs_graphviz
def test_the_image_has_every_node_and_no_script(evil: GraphFile) -> None:
    tree = ElementTree.fromstring(svg(evil))
    assert not {each.tag.rpartition("}")[2] for each in tree.iter()} & {"script", "image", "img"}
    assert len([each for each in tree.iter() if each.get("class") == "node"]) == 3
