"""Plans that a check must refuse: each with its faults (line, type) in order, and what the first one says."""

from typing import NamedTuple


class Faulty(NamedTuple):
    code: str
    faults: list[tuple[int | None, str]]
    says: str


FAULTY_PLANS: dict[str, Faulty] = {
    # syntax
    "unclosed bracket": Faulty('agent.go_to("desk_1"\nagent.look()', [(1, "syntax")], "never closed"),
    "missing colon": Faulty("for n in range(3)\n    print(n)", [(1, "syntax")], "expected ':'"),
    "typographic quotes": Faulty("x = 1\nagent.go_to(‘desk_1’)", [(2, "syntax")], "plain quote"),
    "no indentation": Faulty("if seen_before:\nagent.look()", [(2, "syntax")], "indent the body by four spaces"),
    "bad indentation": Faulty("if seen_before:\n    agent.look()\n  agent.look()", [(3, "syntax")], "indent"),
    "prose in the code": Faulty("agent.look()\nThen go to the desk\n", [(2, "syntax")], "behind a #"),
    "unterminated string": Faulty("agent.go_to('the agent's desk')", [(1, "syntax")], "close the string"),
    "assignment as a test": Faulty("if x = 3:\n    pass", [(1, "syntax")], "compare with =="),
    "a fence inside": Faulty("agent.look()\n```\n", [(2, "syntax")], "backquotes"),
    "a NUL": Faulty("x = 'a\0'", [(1, "syntax")], "U+0000"),
    "half a surrogate pair": Faulty("x = 1\ny = '\ud800'", [(2, "syntax")], "U+D800"),
    "return at the top": Faulty("agent.look()\nreturn 3", [(2, "syntax")], "'return' outside function"),
    "two returns at the top": Faulty(
        "if seen_before:\n    return 1\nagent.look()\nreturn 2",
        [(2, "syntax"), (4, "syntax")],
        "put the lines into a def",
    ),
    "break outside of a loop": Faulty(
        "if seen_before:\n    break\nagent.look()", [(2, "syntax")], "'break' outside loop"
    ),
    "continue in a function only": Faulty(
        "for n in []:\n    def f():\n        continue\n    f()", [(3, "syntax")], "'continue' outside loop"
    ),
    "await outside": Faulty("await agent.look()", [(1, "forbidden-statement")], ""),
    "nonlocal at the top": Faulty("nonlocal x\nagent.look()", [(1, "syntax")], "nonlocal"),
    "local and global": Faulty("def f():\n    x = 1\n    global x\nf()", [(3, "syntax")], "global"),
    # nothing to do
    "empty": Faulty("", [(None, "empty")], "does nothing"),
    "comments only": Faulty("# [Step 1] think\n", [(None, "empty")], "write the actions"),
    "docstring and pass": Faulty('"""A plan."""\npass\n...\n', [(None, "empty")], "does nothing"),
    "only a function": Faulty(
        "def find(agent):\n    return agent.look()\n", [(1, "only-definitions")], "find and calls nothing"
    ),
    "functions and constants": Faulty(
        "import re\nPLACES = ['a', 'b']\nclass A:\n    pass\ndef solve(agent, task):\n    agent.look()\n",
        [(5, "only-definitions")],
        "call solve(...)",
    ),
    # names
    "unknown name": Faulty("agent.go_to(desk)", [(1, "unknown-name")], 'write "desk"'),
    "misspelt name": Faulty(
        "observation = agent.look()\nprint(obervation)", [(2, "unknown-name")], "did you mean observation?"
    ),
    "action without agent": Faulty('go_to("desk_1")', [(1, "unknown-name")], "did you mean agent.go_to?"),
    "attribute without agent": Faulty("print(holding)", [(1, "unknown-name")], "did you mean agent.holding?"),
    "misspelt action without agent": Faulty('goto("desk_1")', [(1, "unknown-name")], "did you mean agent.go_to?"),
    "misspelt builtin": Faulty("prnt(agent.look())", [(1, "unknown-name")], "did you mean print?"),
    "unknown in a function": Faulty(
        "def f():\n    return places[0]\nf()", [(2, "unknown-name")], "places is not defined"
    ),
    "unknown in a comprehension": Faulty("x = [a for a in places if b]\nprint(x)", [(1, "unknown-name")] * 2, "places"),
    "comprehension variable outside": Faulty(
        "x = [item for item in 'ab']\nprint(item)", [(2, "unknown-name")], "item is not defined"
    ),
    "local variable outside": Faulty(
        "def search(agent):\n    for receptacle in ['desk_1']:\n        agent.go_to(receptacle)\nsearch(agent)\n"
        "print(f'nothing on {receptacle}')",
        [(5, "unknown-name")],
        "let the function return it",
    ),
    "class variable in a method": Faulty(
        "class A:\n    size = 1\n    def get(self):\n        return size\nA().get()", [(4, "unknown-name")], "size"
    ),
    "used before its value": Faulty("print(later)\nlater = 1", [(1, "unbound-name")], "move the line"),
    "called before its def": Faulty("f()\ndef f():\n    pass", [(1, "unbound-name")], "f is read before"),
    "default before its value": Faulty(
        "def f(x=LIMIT):\n    return x\nLIMIT = 1\nf()", [(1, "unbound-name")], "LIMIT is read before"
    ),
    "local count": Faulty(
        "count = 0\ndef step():\n    count = count + 1\n    return count\nstep()",
        [(3, "unbound-name")],
        "declare global count",
    ),
    "local count in place": Faulty(
        "count = 0\ndef step():\n    count += 1\n    return count\nstep()",
        [(3, "unbound-name")],
        "declare global count",
    ),
    "error outside of its block": Faulty(
        "try:\n    agent.look()\nexcept ValueError as error:\n    print(error)\nprint(error)",
        [(5, "unbound-name")],
        "only inside its except block",
    ),
    "deleted": Faulty("x = 1\ndel x\nprint(x)", [(3, "unbound-name")], "x was deleted"),
    "deleted in a block": Faulty(
        "for n in range(2):\n    x = n\n    del x\n    if n:\n        print(x)", [(5, "unbound-name")], "x was deleted"
    ),
    "unknown decorator": Faulty("@cache\ndef f():\n    return 1\nf()", [(1, "unknown-name")], "cache is not defined"),
    "unknown in an f-string": Faulty('print(f"on {plce}")', [(1, "unknown-name")], "plce"),
    "unknown in a class base": Faulty("class A(Base):\n    pass\nA()", [(1, "unknown-name")], "Base"),
    "unknown under except Exception": Faulty(
        "try:\n    agent.go_to(place)\nexcept Exception as error:\n    print(error)", [(2, "unknown-name")], "place"
    ),
    "unknown match value": Faulty(
        "match agent.look():\n    case Colour.RED:\n        print(1)\n    case other:\n        print(other)",
        [(2, "unknown-name")],
        "Colour",
    ),
    # actions
    "misspelt action": Faulty('agent.goto("desk_1")', [(1, "unknown-action")], "did you mean agent.go_to?"),
    "action of another world": Faulty(
        'agent.jump("desk_1")', [(1, "unknown-action")], "agent has clean_with, click_xpath,"
    ),
    "misspelt attribute": Faulty("print(agent.hoding)", [(1, "unknown-action")], "did you mean agent.holding?"),
    "misspelt in a helper": Faulty(
        "def f(agent):\n    agent.pick_up('mug_1')\nf(agent)", [(2, "unknown-action")], "no action or attribute pick_up"
    ),
    "misspelt in a nested helper": Faulty(
        "def f(agent):\n    def g():\n        return [agent.opn(p) for p in 'ab']\n    return g()\nf(agent)",
        [(3, "unknown-action")],
        "agent.open",
    ),
    "misspelt host object": Faulty('rule_system.add_rule("x")', [(1, "unknown-action")], "rule_system has write_rule"),
    "misspelt as a value": Faulty('list(map(agent.goto, ["a"]))', [(1, "unknown-action")], "agent.go_to"),
    "misspelt through an alias": Faulty(
        'a = agent\na.goto("desk_1")', [(2, "unknown-action")], "did you mean agent.go_to?"
    ),
    # calls
    "too many arguments": Faulty('agent.go_to("a", "b")', [(1, "arguments")], "takes 1 argument, and 2 are given"),
    "too few arguments": Faulty('agent.take_from("mug_1")', [(1, "arguments")], "lacks receptacle"),
    "no arguments": Faulty("agent.take_from()", [(1, "arguments")], "lacks object and receptacle"),
    "arguments where none are taken": Faulty('agent.look("around")', [(1, "arguments")], "takes no argument"),
    "unknown keyword": Faulty('agent.go_to(recep="a")', [(1, "arguments")], "has no parameter recep"),
    "misspelt keyword": Faulty('agent.go_to(receptacl="a")', [(1, "arguments")], "did you mean receptacle?"),
    "given twice": Faulty('agent.go_to("a", receptacle="b")', [(1, "arguments")], "gets receptacle twice"),
    "keyword only by position": Faulty("agent.scroll(1, 2.0, True)", [(1, "arguments")], "takes 2 arguments"),
    "wrong through an alias": Faulty('go = agent.go_to\ngo("a", "b")', [(2, "arguments")], "agent.go_to()"),
    "wrong in a helper": Faulty("def f(agent):\n    agent.go_to()\nf(agent)", [(2, "arguments")], "lacks receptacle"),
    "plan's own function": Faulty(
        "def find(agent, places, name):\n    return agent.look()\nfind(['a'], 'mug')",
        [(3, "arguments")],
        "find() lacks name",
    ),
    "bare function": Faulty('get_object_with_id("mug")', [(1, "arguments")], "lacks object_name"),
    "lacks beside a star": Faulty("agent.scroll(*[1], smoth=True)", [(1, "arguments")], "did you mean smooth?"),
    # literals
    "number for text": Faulty("agent.go_to(3)", [(1, "literal-type")], "takes receptacle: str, and 3 is int"),
    "None for text": Faulty("agent.go_to(None)", [(1, "literal-type")], "None is None"),
    "list for text": Faulty('agent.go_to(["a"])', [(1, "literal-type")], "is list"),
    "text for a number": Faulty('agent.scroll("3")', [(1, "literal-type")], "'3' is str"),
    "text template for a number": Faulty('agent.scroll(f"{3}")', [(1, "literal-type")], "is str"),
    "fraction for a number": Faulty("agent.scroll(1.5)", [(1, "literal-type")], "1.5 is float"),
    "number in a list of texts": Faulty('agent.select(["a", 2])', [(1, "literal-type")], "takes options: list[str]"),
    "not one of the choices": Faulty(
        'agent.press_key("Enter")',
        [(1, "literal-type")],
        "takes as key one of 'enter', 'tab', and 'Enter' is none of them did you mean 'enter'?",
    ),
    "nothing like one of the choices": Faulty(
        'agent.press_key("F12")', [(1, "literal-type")], "'F12' is none of them write one of those"
    ),
    "text for a point or None": Faulty('agent.drag((1, 2), "here")', [(1, "literal-type")], "'here' is str"),
    "keyword literal": Faulty("agent.scroll(1, smooth='no')", [(1, "literal-type")], "takes smooth: bool"),
    # use of what is given
    "attribute called": Faulty("agent.location()", [(1, "not-callable")], "without brackets"),
    "object called": Faulty('agent("go")', [(1, "not-callable")], "call one of agent.clean_with"),
    "attribute assigned": Faulty('agent.location = "desk_1"', [(1, "assignment")], "can't be assigned"),
    "attribute changed in place": Faulty('agent.holding += "x"', [(1, "assignment")], "agent.holding"),
    "action replaced": Faulty("agent.go_to = print", [(1, "assignment")], "agent.go_to"),
    "new attribute": Faulty("agent.seen = []\nagent.look()", [(1, "assignment")], "keep your own values in variables"),
    "attribute as loop variable": Faulty(
        "for agent.location in 'ab':\n    pass", [(1, "assignment")], "agent.location"
    ),
    "attribute deleted": Faulty("del agent.location", [(1, "assignment")], "deleted"),
    "object replaced": Faulty(
        "agent = 3\nagent.goto('a')", [(1, "assignment"), (2, "unknown-action")], "belongs to the world"
    ),
    "object shadowed by a class": Faulty(
        "class agent:\n    pass\nprint(agent)", [(1, "assignment")], "agent belongs to the world"
    ),
    "object shadowed by a function": Faulty(
        "def agent():\n    pass\nprint(agent)", [(1, "assignment")], "another name"
    ),
    "object shadowed by a loop": Faulty("for agent in 'ab':\n    print(agent)", [(1, "assignment")], "agent"),
    "object shadowed by an import": Faulty("import re as agent\nprint(agent)", [(1, "assignment")], "agent"),
    "object replaced by global": Faulty("def f():\n    global agent\n    agent = 1\nf()", [(3, "assignment")], "agent"),
    "host function replaced": Faulty(
        "def finish():\n    pass\nfinish()", [(1, "assignment")], "finish belongs to the world"
    ),
    # never runs
    "code after return": Faulty(
        "def f(agent):\n    return agent.look()\n    agent.look()\nf(agent)", [(3, "unreachable")], "it follows return"
    ),
    "code after raise": Faulty("raise ValueError('x')\nagent.look()", [(2, "unreachable")], "the raise in line 1"),
    "code after break": Faulty("for n in 'ab':\n    break\n    agent.look()", [(3, "unreachable")], "it follows break"),
    "code after continue": Faulty(
        "while seen_before:\n    if seen_before:\n        continue\n        agent.look()\n    agent.look()",
        [(4, "unreachable")],
        "it follows continue",
    ),
    # several at once
    "every fault at once": Faulty(
        'agent.goto("a")\nagent.go_to()\nprint(nme)\nagent.location()\nagent.go_to(1)\n',
        [(1, "unknown-action"), (2, "arguments"), (3, "unknown-name"), (4, "not-callable"), (5, "literal-type")],
        "agent.go_to",
    ),
    "several in one call": Faulty(
        "agent.take_from(1, nme, 3)", [(1, "arguments"), (1, "literal-type"), (1, "unknown-name")], "takes 2 arguments"
    ),
}
