"""One pass over a graph: the prompts of nodes, their answers, and the nodes that are skipped."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import MemoryJournal, Message, Roles, Sampling, Scope, ScriptedModel, UnusableReply
from planbook.planner.errors import GraphError
from planbook.planner.graph.database import GraphDatabase
from planbook.planner.graph.file import graph_of, read_graph
from planbook.planner.graph.graph import Graph
from planbook.planner.graph.hooking import AnswerRejected, ComposeContext, FinishContext, calls_in
from planbook.planner.graph.shapes import shape_of
from planbook.planner.graph.traverse import run_pass
from tests.planner.graph.graph_kit import make_node, traverse, with_fields
from tests.planner.node_models import NodeModels
from tests.spanning import span_data

HERE = Path(__file__).parent
DRIVE = HERE / "drive.yaml"


def graph_file(text: str) -> Any:
    return graph_of(text, Path("graph.yaml"))


def test_a_prompt_has_earlier_answers_in_order_then_the_text_then_the_form_of_the_answer() -> None:
    graph = Graph(
        make_node("b", "?"),
        make_node("a", "?", expect=shape_of({"k": "yes/no"})),
        make_node("c", "Look: {{ db.seen }}", after=("a", "b"), expect=shape_of({"x": "text", "y?": ["whole"]})),
    )
    answers = NodeModels(a='{"k": "yes"}', b="$db.seen$ {{ db.seen }}", c='{"x": "z"}')
    traverse(graph, answers, GraphDatabase({"seen": "a hill"}))
    assert answers.prompt("c") == (
        '### a\n{\n "k": "yes"\n}\n\n### b\n$db.seen$ {{ db.seen }}\n\nLook: a hill\n\nAnswer with JSON in a block '
        'that begins with ```json, in this form:\n{"x": <text>, "y": [<a whole number>, ...] (may be left out)}'
    )
    assert answers.prompt("b") == "?"


def test_a_prompt_ends_with_the_expected_form() -> None:
    forms = {
        "yes/no": ("no", "Begin your answer with yes or no"),
        "whole": ("1", "Begin your answer with a whole number"),
        "number": ("1", "Begin your answer with a number"),
        "one of: a, b": ("b", "Begin your answer with one of: a, b."),
        "code": ("```python\nx = 1\n```", "Answer with one block of Python"),
        "any": ("{}", "Answer with JSON in a block that begins with ```json."),
    }
    for written, (reply, text) in forms.items():
        answers = NodeModels(a=reply)
        traverse(Graph(make_node("a", "What?", expect=shape_of(written))), answers)
        assert answers.prompt("a").startswith(f"What?\n\n{text}")


def test_an_answer_that_does_not_fit_is_repaired_or_fails_the_pass() -> None:
    graph = Graph(
        make_node("a", "?", expect=shape_of("yes/no"), store={"said": "answer"}), make_node("b", "?", after=("a",))
    )
    repaired = NodeModels(a=["perhaps", "N/A", "No."])
    database = GraphDatabase()
    assert traverse(graph, repaired, database).answers["a"] == "no"
    assert database.values() == {"said": "no"}
    assert "must begin with the word yes or no, not with 'perhaps'" in repaired.asked[1][2]
    unusable, journal, database = NodeModels(a="N/A"), MemoryJournal(), GraphDatabase()
    with pytest.raises(UnusableReply, match=r"no usable reply to a: .*'N/A'"):
        traverse(graph, unusable, database, journal=journal)
    assert unusable.names == ["a"] * 3
    assert database.values() == {}
    assert span_data(journal, "node") == []


def test_a_check_hook_refuses_or_replaces_an_answer() -> None:
    def known(answer: Any, database: GraphDatabase) -> Any:
        if answer not in database.values()["names"]:  # type: ignore[operator]
            raise AnswerRejected(f"{answer} is not known")
        return answer.upper()

    graph = Graph(make_node("a", "?", check="known"))
    answers = NodeModels(a=["tom", "ann"])
    assert traverse(graph, answers, GraphDatabase({"names": ["ann"]}), hooks={"known": known}).answers == {"a": "ANN"}
    assert "tom is not known" in answers.asked[1][2]


def reject(finishing: FinishContext) -> None:
    raise AnswerRejected("no")


@pytest.mark.parametrize(
    ("key", "hook", "message"),
    [
        ("check", lambda answer, database: dict[str, int]()["x"], "the hook it failed: KeyError: 'x'"),
        ("compose", lambda composing: composing.database.set("a", 1), "a cannot be changed here"),
        ("compose", lambda composing: 3, "the compose hook it must return a string"),
        ("finish", lambda finishing: 1 / 0, "the hook it failed: ZeroDivisionError"),
        ("compose", lambda composing: int("x"), "the hook it failed: ValueError"),
        ("finish", lambda finishing: int("x"), "the hook it failed: ValueError"),
        ("finish", reject, "the hook it failed: AnswerRejected: no; only a `check` hook sends its message"),
        ("finish", lambda finishing: finishing.database.set("a", object()), "only JSON values can be stored"),
    ],
)
def test_a_hook_that_fails_is_named(key: str, hook: Any, message: str) -> None:
    node = with_fields(make_node("a", "?"), **{key: "it"})
    with pytest.raises(GraphError, match=message):
        traverse(Graph(node), hooks={"it": hook})


def test_a_compose_hook_replaces_the_answers_above_the_prompt() -> None:
    def history(composing: ComposeContext) -> str:
        return f"Pass {composing.number} of {composing.node.name}: {composing.answers} {{{{ db.x }}}}"

    graph = Graph(make_node("a", "?"), make_node("b", "Say {{ db.x }}.", after=("a",), compose="history"))
    answers = NodeModels()
    traverse(graph, answers, GraphDatabase({"x": "X"}), number=4, hooks={"history": history})
    assert answers.prompt("b") == "Pass 4 of b: {'a': 'a says so'} {{ db.x }}\n\nSay X."


def test_a_node_may_have_a_system_message() -> None:
    asked: list[list[tuple[str, str]]] = []

    def model(messages: Sequence[Message], sampling: Sampling) -> str:
        asked.append([(message.role, message.content) for message in messages])
        return "yes" if len(asked) > 1 else "perhaps"

    node = make_node("b", "Say {{ db.x }}.", system="You are {{ db.who }}, after {{ a }}.", expect="yes/no")
    scope = Scope(MemoryJournal(), "pass/0", Roles(lambda role: ScriptedModel(model), {}, repairs=2))
    run_pass(Graph(node, make_node("a", "?")), GraphDatabase({"x": "X", "who": "terse"}), scope)
    system = ("system", "You are terse, after perhaps.")
    assert [messages[0] for messages in asked] == [("user", "?"), system]
    with pytest.raises(GraphError, match=r"node b: system: db\.who has no value"):
        traverse(Graph(node, make_node("a", "?")), database=GraphDatabase({"x": "X"}))


def test_a_finish_hook_may_replace_a_value_together_with_its_parts() -> None:
    def finish(finishing: FinishContext) -> None:
        finishing.database.set("skill.name", "dig")
        finishing.database.set("skill", {})

    journal = MemoryJournal()
    traverse(Graph(make_node("a", "?", finish="finish")), journal=journal, hooks={"finish": finish})
    assert [node["stored"] for node in span_data(journal, "node")] == [{"skill": {}}]


def test_a_layer_sees_the_stored_values_of_earlier_layers_only() -> None:
    file = graph_file("""
database: {x: old}
nodes:
  one: {prompt: one, store: x}
  two: {prompt: "{{ db.x }}"}
  three: {prompt: "{{ db.x }}", after: [two]}
""")
    answers = NodeModels(one="new")
    traverse(Graph(*file.nodes.values()), answers, file.new_database())
    assert answers.prompt("two") == "old"
    assert "old" not in answers.prompt("three")


def test_answers_of_a_model_are_never_expanded() -> None:
    evil = "$db.secret$ {{ db.secret }} {{ 7 * 7 }} {% for x in db.secret %}{{ x }}{% endfor %} {# {{ item }} #}"
    file = graph_file(
        """
database: {secret: SECRET}
nodes:
  a: {prompt: "?", store: said}
  b: {prompt: "{{ db.said }}, {{ a }}", after: [a], expect: [text], each: {in: answer, node: *}}
""".replace("*", '{prompt: "Is it {{ item }}?"}')
    )
    answers = NodeModels({"a": evil, "b": f'["{evil}"]'})
    traverse(Graph(*file.nodes.values()), answers, file.new_database())
    assert answers.prompt("b").startswith(f"### a\n{evil}\n\n{evil}, {evil}\n")
    assert answers.prompt("b:1") == f"Is it {evil}?"
    assert not any("SECRET" in prompt or "49" in prompt for _, _, prompt in answers.asked)


def test_texts_of_an_environment_are_never_expanded() -> None:
    file = graph_file("""
database: {secret: SECRET}
inputs: {page: what the environment says}
nodes:
  a: {prompt: "{% for line in db.page.lines %}{{ line | upper }};{% endfor %} {{ db.page }}"}
""")
    database, answers = file.new_database(), NodeModels()
    evil = "{{ db.secret }} $db.secret$"
    database.set("page", {"lines": [evil], "{{ db.secret }}": evil})
    traverse(Graph(*file.nodes.values()), answers, database)
    assert evil.upper() in answers.prompt("a")
    assert answers.prompt("a").count("{{ db.secret }}") == 3
    assert "SECRET" not in answers.prompt("a").replace("DB.SECRET", "")


def test_a_branch_adds_nodes_for_one_pass() -> None:
    file = read_graph(DRIVE)
    graph, database = Graph(*file.nodes.values()), file.new_database()
    database.set("road", "A bridge.")
    no_users = {"users": '{"users": [], "crowded": false}', "act": "go on"}
    crossing = {**no_users, "users": '{"users": ["a bus"], "crowded": "yes"}', "users:1": "yes"}
    first = traverse(graph, NodeModels(crossing, risk="Yes: the bus.", reroute="By the wood."), database)
    assert first.layers == [["users", "signs"], ["users:1"], ["risk"], ["reroute"], ["act"], ["log"]]
    assert first.answers["users:1"] == "yes"
    assert database.get("intentions") == ["yes"]
    assert database.get("route.way") == "By the wood."
    answers = NodeModels(no_users, risk="No.")
    second = traverse(graph, answers, database, number=1)
    assert second.layers == [["users", "signs"], ["risk"], ["act"], ["log"]]
    assert second.skipped == ["signs", "log"]
    assert second.answers["signs"] == first.answers["signs"], "the last answer is reused"
    assert second.answers["log"] == first.answers["log"]
    assert database.get("intentions") == []
    assert "The way so far is By the wood." in answers.prompt("act")
    assert traverse(graph, NodeModels(no_users, risk="No."), database, number=3).skipped == ["log"], "every: 3"


def test_the_item_of_a_loop_may_have_any_name() -> None:
    loop = {"in": "answer", "as": "answers", "node": {"prompt": "{{ answers }}?"}}
    answers = NodeModels(a='["x"]')
    traverse(Graph(make_node("a", "?", expect=["text"], each=loop)), answers)
    assert answers.prompt("a:1") == "x?"


def test_a_missing_value_of_the_database_is_not_stored_silently() -> None:
    node = make_node("a", "?", expect={"goal?": "text"}, store={"goal": "answer.goal", "kept": "db.plan.goal"})
    with pytest.raises(GraphError, match=r"node a: store: there is nothing at db\.plan\.goal"):
        traverse(Graph(node), NodeModels(a="{}"), GraphDatabase({"plan": {}}))


@pytest.mark.parametrize(("given", "answer"), [(False, "no"), ("Yes.", "yes")])
def test_an_else_value_has_the_form_of_an_answer(given: object, answer: str) -> None:
    node = make_node("a", "?", expect="yes/no", when="false", **{"else": given})
    assert traverse(Graph(node)).answers == {"a": answer}


def test_a_skipped_node_without_an_answer_is_asked_or_has_its_else() -> None:
    file = graph_file("""
nodes:
  gate: {prompt: "?", expect: yes/no}
  plan: {prompt: "plan?", when: gate == "yes"}
  note: {prompt: "note?", when: gate == "yes", else: nothing so far, store: noted}
  act: {prompt: "act?", after: [plan, note]}
""")
    graph, database, answers = Graph(*file.nodes.values()), file.new_database(), NodeModels(gate="no")
    first = traverse(graph, answers, database)
    assert (first.skipped, first.answers["plan"], first.answers["note"]) == (["note"], "plan says so", "nothing so far")
    assert database.values() == {}, "a skipped node stores nothing"
    assert "### note\nnothing so far" in answers.prompt("act")
    assert traverse(graph, answers, database, number=1).skipped == ["plan", "note"]
    assert answers.names.count("plan") == 1


def test_a_loop_asks_for_every_item_and_refuses_too_many() -> None:
    file = graph_file("""
nodes:
  list:
    prompt: "?"
    expect: {items: [{name: text}]}
    each:
      in: answer.items
      as: thing
      most: 2
      node: {prompt: "Is {{ thing.name }} ({{ thing }}) useful?", expect: yes/no, after: [other]}
      store: useful
      before: [end]
  other: {prompt: "?"}
  end: {prompt: "The end? {{ db.useful }}"}
""")
    many = '{"items": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}'
    answers = NodeModels({"list": [many, '{"items": [{"name": "a"}, {"name": "b"}]}'], "list:1": "yes", "list:2": "no"})
    database = GraphDatabase()
    done = traverse(Graph(*file.nodes.values()), answers, database)
    assert "answer.items may have at most 2 items, but has 3" in answers.asked[1][2]
    assert done.layers == [["list", "other"], ["list:1", "list:2"], ["end"]]
    assert database.get("useful") == ["yes", "no"]
    assert 'Is b ({\n "name": "b"\n}) useful?' in answers.prompt("list:2")
    assert answers.prompt("end").startswith("### list:1\nyes\n\n### list:2\nno\n\nThe end? [")


def test_a_loop_over_the_database_needs_a_list_there() -> None:
    file = graph_file("""
inputs: {things: what there is}
nodes:
  a: {prompt: "?", each: {in: db.things, node: {prompt: "{{ item }}?"}}}
""")
    database = GraphDatabase({"things": ["x", "y"]})
    assert traverse(Graph(*file.nodes.values()), NodeModels(), database).order == ["a", "a:1", "a:2"]
    database.set("things", "x")
    with pytest.raises(GraphError, match=r"node a: db\.things must be a list"):
        traverse(Graph(*file.nodes.values()), NodeModels(), database)
    with pytest.raises(GraphError, match=r"node a: there is nothing at db\.things"):
        traverse(Graph(*file.nodes.values()), NodeModels())


def test_a_missing_value_is_an_error_that_names_the_node() -> None:
    with pytest.raises(GraphError, match=r"node a: prompt: db.plan.goal has no value; did you mean \"gaol\""):
        traverse(Graph(make_node("a", "{{ db.plan.goal }}")), database=GraphDatabase({"plan": {"gaol": 1}}))


def test_every_node_records_its_result() -> None:
    file, journal = read_graph(DRIVE), MemoryJournal()
    graph, database = Graph(*file.nodes.values()), file.new_database()
    database.set("road", "A bridge.")
    replies = {"users": '{"users": ["a bus"], "crowded": "no"}', "users:1": "no", "risk": "no", "act": "brake: a bus"}
    answers = NodeModels(replies)
    traverse(graph, answers, database, journal=journal)
    roles = {name: role for role, name, _ in answers.asked}
    assert (roles["users"], roles["risk"]) == ("graph", "careful"), "a node may have its own model"
    events = span_data(journal, "node")
    assert [(body["node"], body["layer"], body["skipped"]) for body in events] == [
        ("users", 0, False),
        ("signs", 0, False),
        ("users:1", 1, False),
        ("risk", 2, False),
        ("act", 3, False),
        ("log", 4, True),
    ]
    assert events[0]["stored"] == {"seen": ["a bus"], "intentions": []}
    assert events[2]["stored"] == {"intentions": ["no"]}
    assert events[3]["of"] == ["users", "signs", "users:1"]
    assert (events[4]["answer"], events[4]["number"]) == ("brake", 0)


def test_an_event_has_the_short_values_that_a_hook_stored() -> None:
    def keep(finishing: FinishContext) -> None:
        finishing.database.set("short", "x")
        finishing.database.set("long", "x" * 3_000)

    journal, database = MemoryJournal(), GraphDatabase()
    traverse(Graph(make_node("a", "?", finish="keep")), database=database, journal=journal, hooks={"keep": keep})
    (event,) = span_data(journal, "node")
    assert event["stored"] == {"short": "x", "long": "(too long to be repeated here)"}


def test_calls_are_found_in_any_code() -> None:
    assert calls_in("agent.open(agent.find('box'))") == ["agent.open(agent.find('box'))", "agent.find('box')"]
    assert calls_in("agent.open(" + "{1:" * 190 + "2" + "}" * 190 + ")") == []
    assert calls_in("agent.open(" * 90 + "1," * 45_000 + ")" * 90) == []
