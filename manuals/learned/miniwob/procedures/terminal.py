"""Do a task of type terminal.

world: miniwob
type: terminal
source: learnt from terminal/460 by exchange/planner
"""


import re


def check(page, step):
    """Assert that an action was carried out."""
    assert not page.startswith("Nothing happens"), f"{step}: {page.splitlines()[0]}"
    return page


def outputs(agent):
    """The lines of output that the terminal shows, in order."""
    return [found["text"].strip() for found in agent.find("//*[contains(@class, 'terminal-output')]"
                                                          "//span[contains(@class, 'output')]")]


def run_command(agent, command, step):
    """Type a command into the active line, press enter, and return the new lines of output."""
    before = len(outputs(agent))
    check(agent.type(command), step)
    line = agent.find("//*[@id='active-input']")
    held = line[-1]["text"].strip() if line else None
    if held != command:
        # the keys did not arrive: take back what did, give the terminal the focus, try once more
        field = agent.find("//input[@id='terminal-target']")
        for _ in range(min(len(held or ""), 6)):
            check(agent.press_key("backspace"), step)
        if not held and field and field[0]["visible"]:
            check(agent.click_xpath(field[0]["xpath"]), step)
        check(agent.type(command), step)
        line = agent.find("//*[@id='active-input']")
        held = line[-1]["text"].strip() if line else None
    assert held == command, f"{step}: the line should hold {command!r}, but holds {held!r}."
    check(agent.press_key("enter"), step)
    return outputs(agent)[before:]


def test_of(target):
    """What the wanted file's name must fulfil, read out of the words of the goal: a function of the name."""
    text = target.strip().rstrip(",;")
    if re.search(r"\b(?:no|without|lacks?|lacking)\b.*\bextension", text):
        return lambda name: "." not in name.strip(".")
    match = re.search(r"(?:extension|ending (?:with|in)|ends (?:with|in))\s+[\"']?(\.?\w+)", text)
    found = re.search(r"[\"']?(\.\w+)\b[\"']?\s*$", text)
    if "extension" in text or "end" in text:
        if found:
            return lambda name: name.endswith(found.group(1))
        if match:
            ending = match.group(1)
            if "extension" in text and not ending.startswith("."):
                ending = "." + ending
            return lambda name: name.endswith(ending)
    match = re.search(r"(?:start|begin)\w*\s+with\s+(?:the\s+\w+\s+)?[\"']?([\w.-]+)", text)
    if match:
        return lambda name: name.startswith(match.group(1))
    match = re.search(r"contain\w*\s+(?:the\s+\w+\s+)?[\"']?([\w.-]+)", text)
    if match:
        return lambda name: match.group(1) in name
    words = re.findall(r"[\w.-]*\w", text)
    return lambda name: name in words


def solve(agent, task):
    target = task.params.get("target") or ""
    if not target:
        match = re.search(r"\bfile\s+(.+)$", task.goal)
        assert match, f"Step 1: no file is described in the goal: {task.goal}"
        target = match.group(1)
    fits = test_of(target)

    # [Step 1] Give the terminal the focus
    check(agent.click_xpath("//*[@id='terminal']"), "Step 1")

    # [Step 2] List the files
    lines = run_command(agent, "ls", "Step 2")
    names = [name for line in lines for name in line.split()]
    assert names, "Step 2: ls listed nothing."

    # [Step 3] Choose
    files = [name for name in names if fits(name)]
    assert files, f"Step 3: a file {target} was expected, but there are {names}."

    # [Step 4] Delete; the right deletion ends the task
    answers = []
    for name in files[:4]:
        answers.append(run_command(agent, f"rm {name}", "Step 4"))
    raise AssertionError(f"Step 4: deleting {files[:4]} did not end the task; the terminal said {answers}.")
