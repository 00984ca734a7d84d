"""Drawings: whole and escaped."""

import json
import re
from pathlib import Path

import pytest

from planbook.planner.graph.drawing import mermaid
from planbook.planner.graph.file import graph_of, read_graph
from planbook.planner.graph.node import GraphFile

DRIVE = Path(__file__).parent / "drive.yaml"
EVIL = '</title><script>alert(\'x\')</script> "]; click n0 "javascript:alert(1)" & <img src=x> \\" \u202e ]]>'


@pytest.fixture
def evil() -> GraphFile:
    """Names cannot hold such text; prompts, fields, choices, roles, conditions and the title can."""
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


def test_nothing_in_a_graph_gets_out_of_its_place(evil: GraphFile) -> None:
    for line in mermaid(evil).splitlines()[1:]:
        assert re.fullmatch(r'  n\d+(\W*"[^"]*"\W*)?( [-.=]+>(\|"[^"]*"\|)? n\d+)?', line), line
        assert "click" not in line.split('"')[0]
