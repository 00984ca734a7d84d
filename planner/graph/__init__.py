"""Prompt graphs (AgentKit): nodes that each ask a model one question, with the answers of other nodes above it.

A graph is a YAML file. A pass is one run through the graph. In a pass, each node is asked once, after the nodes that it
waits for have answered. Nodes store values in a database, which the next pass can read.

    about: One line.                        # what the graph is for
    steps: 25                               # optional: maximum number of passes in an episode
    manual: |                               # optional text that prompts find as db.manual
      Doors open inwards.
    guidance: Be brief.                     # optional text that prompts find as db.guidance
    inputs: {question: what is asked}       # values that the user supplies, as database path: description
    database: {plan: {}, unknown: []}       # initial values
    code: act                               # optional: the node whose answer is the plan code of a step
    nodes:
      look:                                 # a name: letters, digits and _
        prompt: What is new in {{ db.world.observation }}?
      plan:
        prompt: Plan the next steps. The last plan was {{ db.plan.goal | default("none so far") }}.
        system: "{{ db.guidance }}"         # optional: the system message, a template like the prompt
        after: [look]                       # waits for these nodes; their answers are shown above its prompt
        model: strong                       # role of the model that is asked, for --model strong=...; default "graph"
        expect: {goal: text, steps: [text], "why?": text}
        store: {plan.goal: answer.goal}     # database path: part of the answer; `store: plan` keeps the whole answer
        when: look != "nothing"             # if this is false, the node is skipped and its last answer is used
        every: 3                            # asked only in every third pass (the first, the fourth ...)
        else: {goal: wait, steps: []}       # the answer of a skipped node that has none yet;
                                            # without it, such a node is asked anyway
        if:                                 # after the answer: nodes for this pass only
          - when: answer.goal == "fight" or db.unknown | length > 3
            nodes: {arm: {prompt: With what?}}
            before: [act]                   # these nodes wait for the added nodes, and are shown their answers
        each:                               # after the answer: a node for every item of a list
          in: answer.steps                  # or db.path
          as: step                          # the item's name in the prompt below
          node: {prompt: "What does {{ step }} need?"}
          store: needs                      # database path for the list of the added nodes' answers
          before: [act]
          most: 20                          # maximum number of items
      act:
        prompt: |
          Write the next lines of the program.
          {% for need in db.needs | default([]) %}
          It needs: {{ need }}
          {% endfor %}
        after: [plan]
        expect: code

Prompts are Jinja templates and conditions are Jinja expressions. They can use `db`, the database, and the answers of
nodes by their names; `if`, `each` and `store` can also use `answer`, the node's own. A node waits for the nodes that
its prompt and its `when` use. They have Jinja's statements, tests and filters (except `attr` and `random`), but no
functions and no other files.
A value that does not exist is an error: write `db.plan | default("nothing yet")`, or test `db.plan is defined`.
Only the text of the file is a template. A string is inserted unchanged, any other value as JSON.
A graph may have at most 200 nodes. Its file may have at most 20,000 keys and values.

A skipped node stores nothing, and its `if` and `each` add no nodes.

`expect` is `text` (the default), `code` (plan code), `yes/no`, `number`, `whole`, `one of: a, b`, `any` (any JSON), a
list `[text]`, fields `{name: text}`, where the names of optional fields end in a question mark, or `{"*": text}` for
fields of any name. The prompt describes the form to the model. An answer that does not fit goes back to the model a
few times; then the pass fails. The answer to `yes/no` is the string "yes" or "no": write `gate == "yes"`.

For everything else there are Python functions. `compose`, `check` and `finish` each name one: `FILE.py:name` for a file
next to the graph file, or `module.name` for a shipped one; see `planbook.planner.graph.hooking`.

From code (`planbook.planner`): `Graph` of `GraphNode`, a `GraphDatabase`, and `run_pass`.
"""

GRAPH_SYNTAX = __doc__
"""The description of graph files above, for ``planbook graph format``."""
