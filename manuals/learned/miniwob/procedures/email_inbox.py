"""Do a task of type email-inbox.

world: miniwob
type: email-inbox
source: learnt from email-inbox/460 by exchange/planner
"""


import re


def has_class(name):
    """The condition of an XPath that an element has this class."""
    return f"contains(concat(' ', normalize-space(@class), ' '), ' {name} ')"


def check(page, step):
    """Assert that an action was carried out."""
    assert not page.startswith("Nothing happens"), f"{step}: {page.splitlines()[0]}"
    return page


def shown(agent, xpath):
    """The visible elements that the XPath matches."""
    return [found for found in agent.find(xpath) if found["visible"]]


def click(agent, xpath, step):
    """Click; if it is refused, scroll there and try again."""
    page = agent.click_xpath(xpath)
    for dy in (80, 160):
        if not page.startswith("Nothing happens"):
            return page
        agent.scroll(xpath, dy)
        page = agent.click_xpath(xpath)
    return check(page, step)


def fill(agent, xpath, text, step):
    """Make a field hold exactly this text."""
    held = agent.find(xpath)[0]["attributes"].get("value") or ""
    if held == text:
        return
    check(agent.select_text(xpath) if held else agent.click_xpath(xpath), step)
    check(agent.type(text), step)
    held = agent.find(xpath)[0]["attributes"].get("value") or ""
    assert held.strip() == text.strip(), f"{step}: the field should hold {text!r}, but holds {held!r}."


def wanted(task):
    """What is to be done (star, trash, reply, forward), whose mail it is, who gets it, and the text."""
    goal, params = task.goal, dict(task.params)
    match = re.search(r"\b(?:by|from)\s+([A-Z][\w'-]*)", goal)
    sender = params.get("by") or (match and match.group(1))
    assert sender, f"No sender in the goal: {goal}"
    words = f"{params.get('task') or ''} | {goal}".lower()
    kinds = (("forward", "forward"), ("reply", "reply|respond|answer"), ("trash", "trash|delete|remove"),
             ("star", "star|important"))
    kind = None
    for text in (str(params.get("task") or "").lower(), words):
        for name, pattern in kinds:
            if kind is None and re.search(rf"\b(?:{pattern})", text):
                kind = name
    assert kind, f"What is to be done with the mail? {goal}"
    match = re.search(r"\bto\s+([A-Z][\w'-]*)", goal)
    receiver = params.get("to") or (match and match.group(1))
    match = re.search(r'"([^"]*)"', goal)
    text = match.group(1) if match else None
    if text is None:
        for key in ("message", "text", "reply", "body", "content"):
            text = text or params.get(key)
    if text is None:
        rest = [value for key, value in params.items() if key not in ("by", "task", "to")]
        text = rest[0] if rest else None
    return kind, str(sender).strip(), receiver, text


def find_sender(agent, sender):
    """The first mail from this sender in the list of the inbox: the thread and the element with the sender."""
    threads = agent.find(f"//*[{has_class('email-thread')}]")
    names = []
    for thread in threads:
        found = agent.find(thread["xpath"] + f"//*[{has_class('email-sender')}]")
        if found:
            names.append(found[0]["text"].strip())
            if names[-1].rstrip(".").lower() == sender.lower():
                return thread["xpath"], found[0]["xpath"]
    raise AssertionError(f"Step 1: there is no mail from {sender}; the senders are {names}.")


def send(agent, part, step):
    """Click on the button of a form that sends."""
    for xpath in (f"//*[@id='send-{part}']", "//*[starts-with(@id, 'send')]", f"//*[{has_class('send')}]",
                  "//button[normalize-space()='Send']"):
        found = shown(agent, xpath)
        if found:
            return check(agent.click_xpath(found[0]["xpath"]), step)
    raise AssertionError(f"{step}: there is nothing to send with.")


def solve(agent, task):
    kind, sender, receiver, text = wanted(task)

    # [Step 1] Find the mail
    thread, name = find_sender(agent, sender)

    if kind in ("star", "trash"):
        # [Step 2] Click on its icon in the list; this ends the task
        click(agent, thread + f"//span[{has_class(kind)}]", "Step 2")
        return

    # [Step 2] Open the mail
    page = click(agent, name, "Step 2")
    opened = shown(agent, f"//*[@id='email']//*[{has_class('email-sender')}]")
    assert opened and opened[0]["text"].strip().lower() == sender.lower(), \
        f"Step 2: the mail of {sender} is not open: {page[-800:]}"

    # [Step 3] Open the form for replying or forwarding
    page = click(agent, f"//*[@id='email']//*[{has_class('email-' + kind)}]", "Step 3")

    # [Step 4] Fill it in and send; this ends the task
    if kind == "forward":
        assert receiver, f"Step 4: no receiver in the goal: {task.goal}"
        fields = shown(agent, "//*[@id='forward']//input") or shown(agent, "//input[@type='text']")
        assert fields, f"Step 4: there is no field for the receiver: {page[-800:]}"
        fill(agent, fields[0]["xpath"], str(receiver), "Step 4")
    else:
        assert text, f"Step 4: no text for the reply in the goal: {task.goal}"
        fields = shown(agent, "//*[@id='reply']//textarea") or shown(agent, "//textarea")
        fields = fields or shown(agent, "//input[@type='text']")
        assert fields, f"Step 4: there is no field for the text: {page[-800:]}"
        fill(agent, fields[-1]["xpath"], str(text), "Step 4")
    send(agent, kind, "Step 4")
