"""Graph files: how they are read, and the faults that are reported."""

import json
import time
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, strategies as st

from planbook.planner.errors import BadGraphFile, GraphError
from planbook.planner.graph.drawing import mermaid
from planbook.planner.graph.file import graph_faults, graph_of, read_graph
from planbook.planner.graph.graph import Graph, whole_graph
from tests.planner.graph.graph_kit import traverse
from tests.planner.node_models import NodeModels

DRIVE = Path(__file__).parent / "drive.yaml"
FILE = Path("folder/graph.yaml")


def faults(text: str) -> list[str]:
    return [str(fault) for fault in graph_faults(dedent(text).strip() + "\n", FILE)]


def test_the_example_is_read() -> None:
    file = read_graph(DRIVE)
    assert (file.name, file.about) == ("drive", "Decides how to go on by what the road looks like.")
    assert Graph(*file.nodes.values()).layers() == [["users", "signs"], ["risk"], ["act"], ["log"]]
    risk = file.nodes["risk"]
    assert (risk.model, risk.after, risk.expect.kind) == ("careful", ("users", "signs"), "yes/no")
    assert list(map(str, risk.branches[0].nodes["reroute"].store.values())) == ["answer"]
    assert file.new_database().values() == {"route": {"target": "the harbour"}, "warnings": []}
    assert file.new_database() is not file.new_database()
    assert file.inputs == {"road": "What is seen, in a sentence or two."}


def test_all_faults_are_reported_with_line_and_advice() -> None:
    text = """
        about: x
        stepz: 3
        database: {plan: no, a: {b: 1}}
        nodes:
          one:
            promt: hi
          two:
            prompt: "{{ db.plan.x }} {{ db.unfin }}"
            after: [tow, three]
            expect: {k: txt}
          three:
            prompt: three {{ db.plans }}
            compose: nowhere.x
            check: foo.py:bar
            store: {plan.goal: answer, q.r: answer.z, w w: answer}
            when: four.g and fuor == "x"
          four:
            prompt: four
            expect: yes/no
            each: {in: answer, node: {prompt: "x {{ item }} {{ it }} {{ db.plan"}}
            if:
              - when: answer == "yes"
                nodes: {five: {prompt: hi, aftr: x}}
        code: two
    """
    found = faults(text)
    expected = [
        '2: stepz: there is no such key; did you mean "steps"?',
        "5: nodes.one.prompt: this is required",
        '6: nodes.one.promt: there is no such key; did you mean "prompt"?',
        '8: nodes.two.prompt: db.plan.x: nothing sets plan.x; did you mean "plan"?',
        '9: nodes.two.after: there is no node tow; did you mean "two"?',
        "10: nodes.two.expect: 'txt' is not a shape; did you mean \"text\"?",
        "13: nodes.three.compose: there is no hook nowhere.x",
        "14: nodes.three.check: foo.py cannot be read: No such file or directory",
        "15: nodes.three.store.q.r: answer.z: its answer has no z; it is <text>",
        "15: nodes.three.store.w w: this is not a database path",
        "16: nodes.three.when: four.g: its answer has no g; it is <yes or no>",
        '16: nodes.three.when: fuor: there is no node fuor; did you mean "four"?',
        "20: nodes.four.each.in: answer is not a list",
        "20: nodes.four.each.node.prompt: the template: unexpected end",
        '23: nodes.four.if[1].nodes.five.aftr: there is no such key; did you mean "after"?',
    ]
    for each in expected:
        assert any(line.startswith(each) for line in found), (each, found)
    numbers = [int(line.partition(":")[0]) for line in found]
    assert numbers == sorted(numbers)
    with pytest.raises(BadGraphFile) as refused:
        graph_of(dedent(text).strip(), FILE)
    assert str(refused.value).splitlines() == [f"{FILE}:{line}" for line in found]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("- a\n- b", "1: a graph file must be a mapping"),
        ("nodes: {}", "1: nodes: it is empty"),
        ("name: x\nnodes:\n  a: {prompt: x}", "1: name: there is no such key"),
        ("nodes: [a]", "1: nodes: this must be a mapping"),
        ("nodes:\n  a: {name: b, prompt: x}", "2: nodes.a.name: a node's name is the key before its colon"),
        ("nodes:\n  a: {prompt: x, if: [{when: answer, nodes: {b: {prompt: x, name: c}}}]}",
         "2: nodes.a.if[1].nodes.b.name: a node's name is the key before its colon"),
        ("nodes:\n  a: {prompt: ''}", "2: nodes.a.prompt: this is empty"),
        ("nodes:\n  a:\n    prompt: {{ db.x }}", "3: nodes.a.prompt: a key must be a string; put it in quotes"),
        ("nodes:\n  a: {prompt: x, system: '{{ db.gone }}'}", "2: nodes.a.system: db.gone: nothing sets gone"),
        ('nodes:\n  a: {prompt: x}\n  b: {prompt: x, when: {a: "yes"}}', "3: nodes.b.when: this must be text"),
        ("nodes:\n  db: {prompt: x}", "2: nodes.db: 'db' cannot be the name of a node"),
        ("nodes:\n  a: {prompt: x, every: 0}", "2: nodes.a.every: this must be 1 or more"),
        ("nodes:\n  a: {prompt: x, after: {b: c}}", "2: nodes.a.after: this must be a list"),
        ("nodes:\n  a: {prompt: x, when: b ==}", "2: nodes.a.when: 'b ==' is not an expression"),
        ("nodes:\n  a: {prompt: x, after: b}\n  b: {prompt: 'x {{ a }}'}", "2: nodes.a: the graph has a cycle: a -> b"),
        ("nodes:\n  a: {prompt: x, if: [{when: answer, nodes: {c: {prompt: x, after: b}}, before: b}]}\n"
         "  b: {prompt: x}", "2: nodes.a.if[1].nodes.c: the graph has a cycle: c -> b -> c;"),
        ("nodes:\n  a: {prompt: x, if: [{when: answer, nodes: {c: {prompt: x}}}]}\n  b: {prompt: x, after: c}",
         "3: nodes.b.after: c exists only in a branch of a; write before: [b] there"),
        ("nodes:\n  a: {prompt: x, expect: yes/no}\n  b: {prompt: x, when: not a}",
         '3: nodes.b.when: a is "yes" or "no", which both count as true; write a == "yes"'),
        ("nodes:\n  a: {prompt: x, expect: {k: text, 'l?': text}}\n  b: {prompt: '{{ a.l }}'}",
         "3: nodes.b.prompt: a.l: this field is optional; give it a default"),
        ("nodes:\n  a: {prompt: x, when: plan.goal}\ndatabase: {plan: {goal: x}}",
         "2: nodes.a.when: plan.goal: there is no node plan. For a value in the database, write db.plan.goal"),
        ("nodes:\n  a: {prompt: '{{ db.p | default(db.q) }}'}", "2: nodes.a.prompt: db.q: nothing sets q."),
        ("nodes:\n  a: {prompt: x, expect: yes/no, else: N/A}", "2: nodes.a.else: this does not fit `expect`: "),
        ("nodes:\n  a: {prompt: x, expect: {k: text}, else: ''}", "2: nodes.a.else: this does not fit `expect`: "),
        ("nodes:\n  node: {prompt: x, foo: 1}", "2: nodes.node.foo: there is no such key. The keys are prompt, after, "
         "model, expect, system, compose, check, finish, store, when, every, else, if, each"),
        ("nodes:\n  a: {prompt: x, each: {in: db.l, foo: 1, node: {prompt: x}}}",
         "2: nodes.a.each.foo: there is no such key. The keys are in, as, node"),
        ("nodes:\n  a b: {prompt: x, after: a b}", "2: nodes.a b: 'a b' cannot be the name of a node"),
        ("nodes:\n  a: {prompt: x, each: {in: db.l, node: {prompt: x}}}\n  'a:item': {prompt: x}",
         "3: nodes.a:item: 'a:item' cannot be the name of a node"),
        ("nodes:\n  a: {prompt: x, if: [{when: answer, nodes: {b: {prompt: x}}}]}\n  b: {prompt: x, store: p}\n"
         "  c: {prompt: x, store: p}", "3: nodes.b: another node is already named b"),
        ("nodes:\n  a: {prompt: x, expect: {k: text}, store: q}\n  b: {prompt: '{{ db.q.z }}'}",
         '3: nodes.b.prompt: db.q.z: the value at q is {"k": <text>}'),
        ("nodes:\n  a: {prompt: x}\ncode: b", "3: code: there is no node b."),
        ("code: a\nnodes:\n  a: {prompt: '{{ db.world.gaol }}', expect: code}",
         '3: nodes.a.prompt: db.world.gaol: nothing sets world.gaol; did you mean "goal"? '
         "The values there are goal, about, "),
        ("code: a\nnodes:\n  a: {prompt: '{{ db.last.x }}', expect: code}",
         "3: nodes.a.prompt: db.last.x: nothing sets last.x. The values there are code, feedback"),
        ("nodes:\n  a: {prompt: x}\ncode: a", "2: nodes.a.expect: this node is the graph's `code` node"),
        ("nodes:\n  a: {prompt: x, each: {in: db.l, as: a b, node: {prompt: x}}}", "2: nodes.a.each.as: 'a b' cannot"),
        ("nodes:\n  a: {prompt: x, expect: [{k: text}], each: {in: answer, node: {prompt: '{{ item.z }}'}}}",
         '2: nodes.a.each.node.prompt: item.z: its answer has no z; it is {"k": <text>}'),
        ("nodes:\n  a: {prompt: x\n", "3: this is not YAML: "),
        ("nodes:\n  a: {prompt: !!python/object:os.system x}", "2: the tag tag:yaml.org,2002:python/object:os.system"),
        ("nodes:\n  a: {prompt: x, every: !!int x}", "2: this is not a valid int"),
        ("nodes:\n  a: {prompt: x, every: !!int ''}", "2: this is not a valid int"),
        ("nodes:\n  a: {prompt: x, every: !!bool x}", "2: this is not a valid bool"),
        ("nodes:\n  a: !!seq {prompt: x}", "2: the tag !!seq does not fit this value; leave it out"),
        ("nodes:\n  a: !!str {prompt: x}", "2: the tag !!str does not fit this value; leave it out"),
        ("nodes:\n  a: {prompt: !!map x}", "2: the tag !!map does not fit this value; leave it out"),
        ("nodes:\n  a: {prompt: x}\n---\nnodes:\n", "3: this is not YAML: expected a single document"),
        ("nodes: " + "[" * 100, "1: values are more than 30 levels deep here"),
        ("nodes:\n  a: {prompt: x, each: {in: db.l, node: x}}", "2: nodes.a.each.node: this must be a mapping"),
        ("nodes:\n  a: {prompt: x, prompt: y}", "2: prompt is used twice"),
        ("nodes:\n  ? [a]\n  : {prompt: x}", "2: nodes: a key must be a string; put it in quotes if it begins with {"),
        ("database: {1: x, '1': y}\nnodes:\n  a: {prompt: x}", "1: 1 is used twice; leave one out, or rename it"),
        ("database:\n  true: x\n  True: y\nnodes:\n  a: {prompt: x}", "3: True is used twice"),
        ("nodes:\n  a: {prompt: x, every: 0x" + "f" * 90 + "}", "2: this integer is too large; put it in quotes"),
        (f"nodes:\n  a: {{prompt: x, every: {'9' * 45_000}}}", "2: this integer is too large; put it in quotes"),
        (f"nodes:\n  a: {{prompt: x, every: {2**63}}}", "2: this integer is too large; put it in quotes"),
        ("inputs: {a b: x}\nnodes:\n  a: {prompt: x}", "1: inputs.a b: this is not a database path"),
    ],
)  # fmt: skip
def test_a_fault_has_its_line(text: str, fault: str) -> None:
    assert any(line.startswith(fault) for line in faults(text)), faults(text)


def test_a_faulty_node_causes_no_faults_in_the_nodes_that_use_it() -> None:
    text = "code: a\nnodes:\n  a: x\n  b: {prompt: '{{ a.x }}', after: a, if: [{when: a, nodes: {c: x}}]}"
    problem = "this must be a mapping: names, each followed by a colon and a value"
    assert faults(text) == [f"3: nodes.a: {problem}", f"4: nodes.b.if[1].nodes.c: {problem}"]
    found = ["2: nodes.nodes.every: this must be a whole number", "2: nodes.nodes.prompt: the template: unexpected '}'"]
    assert faults("nodes:\n  nodes: {prompt: '{{ } }}', every: x}") == found
    named = "code: a\nnodes:\n  a: {prompt: x, name: b, expect: code}\n  c: {prompt: x, after: a}"
    assert faults(named) == ["3: nodes.a.name: a node's name is the key before its colon; remove `name`"]


def test_every_cycle_is_a_fault() -> None:
    loops = "  b: {prompt: x, after: b}\n  d: {prompt: x, after: e}\n  e: {prompt: x, after: [d, f]}\n  f: {prompt: x}"
    found = [fault.partition(": the graph has a ")[::2] for fault in faults(f"nodes:\n{loops}")]
    cycles = [(place, cycle.partition(";")[0]) for place, cycle in found]
    assert cycles == [("2: nodes.b", "cycle: b -> b"), ("3: nodes.d", "cycle: d -> e -> d")]


def test_a_file_that_expands_to_a_billion_values_is_refused() -> None:
    laughs = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60))]
    (fault,) = faults("\n".join(laughs))
    assert fault.startswith("1: anchors and aliases (&a0 and *a0) are not allowed; write each value out")
    assert "50,000 are allowed" in faults("#" * 50_001)[0]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["nodes:", *(f"  n{number}: {{prompt: x}}" for number in range(2_000))], "there are 2,000 nodes; at most 200"),
        (["nodes: {a: {prompt: x}}", *(f"z{number}: 1" for number in range(5_000))], "there may be more faults"),
        (["nodes:", f"  a: {{prompt: x, store: {'a.' * 24_000}a}}"], "is not a database path"),
        ([f"database: {{p: [{'?,' * 24_000}]}}"], "nodes: this is required"),
        (["[" * 49_000], "values are more than 30 levels deep here"),
        (["nodes:", *(f"  n{number}: {{prompt: '{{{{ db.x{'.y' * 900} }}}}{number}'}}" for number in range(25))],
         "this is nested too deeply"),
        (["nodes:", *(f"  n{number}: {{prompt: '{{{{ db.x{'.y' * 190} }}}}{number}'}}" for number in range(90))],
         "nothing sets x.y"),
        (["nodes:", *(f"  n{number}: {{prompt: x, when: 'a{' or a' * 190} or b{number}'}}" for number in range(40))],
         "there is no node a"),
    ],
)  # fmt: skip
def test_a_large_file_is_checked_in_seconds(lines: list[str], fault: str) -> None:
    start = time.process_time()
    found = faults("\n".join(lines))
    assert any(fault in line for line in found)
    assert len(found) <= 101
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    "text",
    [
        "nodes:\n  a: {prompt: x, expect: {k: whole}, else: {k: 0x10}}",
        "database: {p: {}}\nnodes:\n  a: {prompt: \"{{ db.p.filled.later | default('no') }} {{ db.p.any }}\"}",
        "code: a\nnodes:\n  a: {prompt: 'x {{ db.world.state }} {{ db.last.feedback }} {{ db.step }}', expect: code}",
        "code: a\nnodes:\n  a: {prompt: '{{ db.world.x }}', expect: code, store: {world.x: answer}}",
        "code: a\nnodes:\n  a: {prompt: '{{ db.world.x }}', expect: code, finish: crafter.note_vitals}",
        "manual: m\nguidance: g\nnodes:\n  a: {prompt: 'x {{ db.manual }} {{ db.guidance }}'}",
        "nodes:\n  a: {prompt: x, else: ''}",
        "nodes:\n  a: {prompt: x, expect: {'l?': text}}\n  b: {prompt: '{% if a.l is defined %}{{ a.l }}{% endif %}'}",
        "nodes:\n  a: {prompt: x, expect: {'l?': [text]}, store: {p: answer.l}, each: {in: 'answer.l | default([])', "
        "node: {prompt: 'x {{ item }}'}}}",
        "nodes:\n  a: {prompt: x, expect: [text], store: {p.first: answer | first, p.count: answer | length}}\n"
        "  b: {prompt: 'x {{ db.p.first }} {{ db.p.count }}', after: a}",
        "nodes:\n  a: {prompt: x, store: p}\n"
        "  b: {prompt: x, expect: [text], each: {in: answer, node: {prompt: '{{ item }} {{ db.p }}', after: a}}}",
    ],
)
def test_a_sound_graph_has_no_faults(text: str) -> None:
    assert faults(text) == []
    assert graph_of(text, FILE)


def test_dates_and_numbers_become_values_of_json() -> None:
    text = "database: {day: 2020-01-01, n: 1_000, f: 1.5, none: ~, inf: .inf, o: 012, h: 0x1f, b: True, y: yes}\n"
    assert graph_of(f"{text}nodes: {{a: {{prompt: x}}}}", FILE).initial_values == {
        "day": "2020-01-01", "n": 1000, "f": 1.5, "none": None, "inf": "inf", "o": 12, "h": 31, "b": True, "y": "yes",
    }  # fmt: skip


def test_hooks_are_found_in_a_file_next_to_the_graph_and_run_only_during_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(
        "print('executed')\ndef louder(answer, database):\n    return answer.upper() + helper()\n"
        "def helper():\n    return '!'\n"
    )
    path = tmp_path / "graph.yaml"
    path.write_text("nodes:\n  a: {prompt: x, check: mine.py:louder}\n")
    assert graph_faults(path.read_text(), path) == []
    file = read_graph(path)
    assert mermaid(file)
    assert capsys.readouterr().out == ""
    assert traverse(Graph(*file.nodes.values()), NodeModels(a="so"), hooks=file.hooks).answers == {"a": "SO!"}
    path.write_text("nodes:\n  a: {prompt: x, check: mine.py:louderr, finish: mine.txt:f}\n")
    found = [str(fault) for fault in graph_faults(path.read_text(), path)]
    assert found == [
        '2: nodes.a.check: mine.py: there is no function louderr; did you mean "louder"?',
        "2: nodes.a.finish: mine.txt:f is not a hook; write FILE.py:function",
    ]


def test_an_unreadable_hook_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "graph.yaml"
    path.write_text("nodes:\n  a: {prompt: x, check: mine.py:f}\n")
    (tmp_path / "mine.py").write_text("def f(:\n")
    assert "mine.py cannot be parsed" in str(graph_faults(path.read_text(), path)[0])
    (tmp_path / "mine.py").write_text("def f(a, b): return a\n1 / 0\n")
    with pytest.raises(GraphError, match=r"mine\.py failed when it was run: ZeroDivisionError"):
        assert read_graph(path).hooks


def test_a_binary_or_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "graph.yaml").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "graph.yaml", tmp_path / "none.yaml", tmp_path):
        with pytest.raises(BadGraphFile, match="cannot be read as a graph"):
            read_graph(path)


words = st.sampled_from(
    [*"nodes a b prompt after expect if each when store x yes/no answer in node a.b".split(), "{{ db.x }}", "{{ b }}"]
)
trees = st.recursive(
    words | st.integers(0, 3) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(words, trees, max_size=4) | trees, st.dictionaries(words, trees, max_size=4))
def test_any_file_has_faults_or_can_be_run(whole: object, nodes: object) -> None:
    for value in (
        whole,
        {"nodes": nodes},
        {"nodes": {"a": {"prompt": "x", **nodes}}} if isinstance(nodes, dict) else 1,
    ):
        text = json.dumps(value)
        if not graph_faults(text, FILE):
            assert whole_graph(graph_of(text, FILE)).layers()


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_has_faults_and_no_other_error(text: str) -> None:
    for fault in graph_faults(text, FILE):
        assert str(fault)
