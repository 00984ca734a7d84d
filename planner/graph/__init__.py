"""Prompt graphs (AgentKit): nodes that each ask a model one thing, and are told what others answered.

A graph is a YAML file, and takes no coding. A pass goes through it once: every node is asked when those that it waits
for have answered; what nodes store is kept in a database for the next pass.

    about: One line.                        # what the graph is for
    steps: 25                               # optional: at most so many passes an episode
    manual: |                               # optional text that prompts find as $db.manual$
    guidance: |                             # likewise $db.guidance$
    inputs: {question: what is asked}       # what whoever runs the graph gives it, by database path
    database: {plan: {}, unknown: []}       # values from the beginning
    code: act                               # optional: the node whose answer is the plan code of a step
    nodes:
      look:                                 # a name: letters, digits, _ and -
        prompt: What is new in $db.world.observation$?
      plan:
        prompt: Plan the next steps. The last plan was $db.plan.goal|none so far$.
        after: [look]                       # whom it waits for; their answers stand above its prompt, under their names
        model: strong                       # the role that is asked, for --model strong=...; else "graph"
        expect: {goal: text, steps: [text], "why?": text}
        store: {plan.goal: answer.goal}     # database path: part of the answer; `store: plan` keeps the whole of it
        when: {look: {not: "nothing"}}      # only if; else the node is skipped and its last answer stands
        every: 3                            # only in every third pass (the first, the fourth ...)
        else: {goal: wait, steps: []}       # what stands for the answer of a skipped node that has none yet;
                                            # without it the node is asked all the same
        if:                                 # after the answer: nodes for this pass only
          - when: {answer.goal: fight}
            nodes: {arm: {prompt: With what?}}
            before: [act]                   # who waits for them, and is told what they say
        each:                               # after the answer: a node for every item of a list
          in: answer.steps                  # or db.path
          as: step                          # $step$ in the prompt below
          node: {prompt: What does $step$ need?}
          store: needs                      # the list of their answers
          before: [act]
          most: 20                          # more items are refused
      act:
        prompt: Write the next lines of the program. What the steps need is $db.needs$
        after: [plan]
        expect: code

A skipped node stores nothing and branches nowhere. A look-up, ``$db.path$``, must find something, unless it says what
stands else: ``$db.path|nothing yet$``. Only prompts of the file are searched for look-ups, never what is put into them.

``expect`` is one of ``text`` (the default), ``code`` (plan code), ``yes/no``, ``number``, ``whole``, ``one of: a, b``
and ``any`` (JSON), a list ``[text]``, fields ``{name: text}``, those that may be left out with a question mark,
or ``{"*": text}`` for fields of any name. The model is told what is expected; an answer that does not fit goes back to
it a few times, and then the pass fails.

A condition is ``{name: value}``, where a name is a node or ``node.field``, ``db.path``, and in ``if`` the node's own
``answer`` or ``answer.field``. All of several must hold; ``{any: [...]}``, ``{all: [...]}`` and ``{not: {...}}``
combine them, and a value may be ``{not: x}``, ``{in: [x, y]}``, ``{not_in: [x]}``, ``{at_least: 3}``, ``{at_most: 3}``
or ``{exists: true}``. A node waits for the nodes that its ``when`` asks about.

What cannot be said like this is a Python function: ``compose``, ``check`` and ``finish`` name one, as ``FILE.py:name``
beside the graph file or ``module.name`` of those that ship; see ``planbook.planner.graph.hooking``.

From code: ``Graph`` of ``Node``, a ``Database``, and ``run_pass``.
"""

from planbook.planner.errors import BadGraphFile, GraphError
from planbook.planner.graph.condition import condition_of
from planbook.planner.graph.database import Database
from planbook.planner.graph.file import (
    SHIPPED_GRAPHS,
    GraphFile,
    file_faults,
    graph_of,
    graph_path,
    read_graph,
    text_of,
)
from planbook.planner.graph.graph import Edge, Graph
from planbook.planner.graph.hooking import AfterQueryError, Composing, Finishing, Hooks
from planbook.planner.graph.node import ROLE, IfBranch, Loop, Node
from planbook.planner.graph.shape import Shape, shape_of
from planbook.planner.graph.traverse import Pass, run_pass

__all__ = [
    "ROLE",
    "SHIPPED_GRAPHS",
    "AfterQueryError",
    "BadGraphFile",
    "Composing",
    "Database",
    "Edge",
    "Finishing",
    "Graph",
    "GraphError",
    "GraphFile",
    "Hooks",
    "IfBranch",
    "Loop",
    "Node",
    "Pass",
    "Shape",
    "condition_of",
    "file_faults",
    "graph_of",
    "graph_path",
    "read_graph",
    "run_pass",
    "shape_of",
    "text_of",
]
