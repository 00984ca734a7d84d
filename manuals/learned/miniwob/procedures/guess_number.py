"""Do a task of type guess-number.

world: miniwob
type: guess-number
source: learnt from guess-number/460 by exchange/planner
"""


import re


def check(page, step):
    """Assert that an action was carried out."""
    assert not page.startswith("Nothing happens"), f"{step}: {page.splitlines()[0]}"
    return page


def visible(agent, xpaths, step, what):
    """The first visible element that one of the XPaths matches."""
    for xpath in xpaths:
        for found in agent.find(xpath):
            if found["visible"]:
                return found
    raise AssertionError(f"{step}: there is no {what} on the page.")


def number_range(goal):
    """The least and the greatest number that are possible."""
    match = re.search(r"between\s+(-?\d+)\s*(?:-|–|and|to)\s*(-?\d+)", goal)
    if match is None:
        match = re.search(r"(\d+)\s*(?:-|–|and|to)\s*(\d+)", goal)
    assert match, f"Step 1: no range of numbers in the goal: {goal}"
    low, high = int(match.group(1)), int(match.group(2))
    return min(low, high), max(low, high)


def read_feedback(agent):
    """('lower' or 'higher', number) of the feedback that is visible now, or None."""
    for found in agent.find("//*[@id='feedback']/*"):
        if found["visible"]:
            match = re.search(r"number is (lower|higher) than\s+(-?\d+)", found["text"])
            if match:
                return match.group(1), int(match.group(2))
    return None


def guess_number(agent, number):
    """Put this number into the number field in place of what it holds, and submit it."""
    step = f"Guess {number}"
    field = visible(agent, ("//form//input[@type='number']", "//input[@type='number']", "//form//input"), step,
                    "number field")["xpath"]
    held = agent.find(field)[0]["attributes"].get("value") or ""
    if held != str(number):
        if held:
            check(agent.select_text(field), step)
        else:
            check(agent.click_xpath(field), step)
        check(agent.type(str(number)), step)
        held = agent.find(field)[0]["attributes"].get("value")
        assert held == str(number), f"{step}: the field should hold {number}, but holds {held!r}."
    button = visible(agent, ("//button[normalize-space()='Submit']", "//form//button",
                             "//input[@type='submit']"), step, "Submit button")
    return check(agent.click_xpath(button["xpath"]), step)


def solve(agent, task):
    # [Step 1] Read the range out of the goal, and feedback that is there already
    low, high = number_range(task.goal)
    feedback = read_feedback(agent)
    if feedback:
        if feedback[0] == "lower":
            high = min(high, feedback[1] - 1)
        else:
            low = max(low, feedback[1] + 1)

    # [Step 2] Halve what is left; the right guess ends the task
    while low <= high:
        guess = (low + high) // 2
        page = guess_number(agent, guess)
        feedback = read_feedback(agent)
        if feedback is None:
            correct = agent.find("//*[@id='feedback']/*[@id='correct']")
            assert correct and correct[0]["visible"], f"Step 2: no feedback to {guess}: {page[:800]}"
            return
        word, number = feedback
        assert number == guess, f"Step 2: the feedback is about {number}, not about {guess}: {page[:800]}"
        if word == "lower":
            high = guess - 1
        else:
            low = guess + 1
    raise AssertionError(f"Step 2: no number is left between {low} and {high}, and none was right.")
