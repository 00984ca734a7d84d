"""Do a task of type email-inbox-forward-nl.

world: miniwob
type: email-inbox-forward-nl
source: learnt from email-inbox-forward-nl/460 by exchange/planner
"""


import re

NAME = r"([A-Z][\w-]*)"
MAIL = r"(?:e-?mail|message|mail|note|letter)"


def check(page, step):
    """Assert that an action was carried out."""
    assert not page.startswith("Nothing happens"), f"{step}: {page.splitlines()[0]}"
    return page


def shown(agent, xpath):
    """The visible elements that the XPath matches."""
    return [found for found in agent.find(xpath) if found["visible"]]


def click(agent, xpath, step):
    """Click, and scroll there first if it is refused once."""
    page = agent.click_xpath(xpath)
    if page.startswith("Nothing happens"):
        agent.scroll(xpath, 60)
        page = check(agent.click_xpath(xpath), step)
    return page


def read_names(goal, senders):
    """Who wrote the mail and who is to get it, read out of the goal; the writer is one of the senders if possible."""
    first = re.match(r"\W*(\w[\w-]*)", goal)
    first = first.group(1) if first else ""
    words = re.findall(r"\b[A-Z][\w-]*", goal)
    names = [word for word in words if word in senders]
    names += [word for word in words if word not in names and word not in senders and word != first and word != "I"]
    if first and first[0].isupper() and first not in names:
        names.append(first)  # the likeliest not to be a name: last
    names = list(dict.fromkeys(names))

    writer_hints = (
        rf"\b(?:from|by)\s+{NAME}",
        rf"{NAME}(?:'s|’s|s')\s+(?:\w+\s+)?{MAIL}",
        rf"{NAME}\s+(?:just\s+|has\s+|had\s+)?(?:sent|wrote|written|mailed|emailed)\b",
        rf"{NAME}\s+(?:\w+\s+){{1,3}}?(?:his or her|his|her|their)\s+{MAIL}",
        rf"{MAIL}\s+of\s+{NAME}",
    )
    receiver_hints = (
        rf"\b(?:to|with|for)\s+{NAME}(?!['’]s)",
        rf"\b(?:[Gg]ive|[Ss]end|[Ff]orward|[Ss]how|[Pp]ass|[Hh]and|[Ll]et)\s+{NAME}(?!['’\w])",
        rf"{NAME}\s+(?:wants|needs|would like|wishes|asked|asks|should|has to|must)\b",
    )

    def hinted(hints, other):
        for hint in hints:
            for match in re.finditer(hint, goal):
                if match.group(1) in names and match.group(1) != other:
                    return match.group(1)
        return None

    writer = hinted(writer_hints, None)
    receiver = hinted(receiver_hints, writer)
    if writer is None:
        rest = [name for name in names if name != receiver]
        known = [name for name in rest if name in senders]
        writer = (known or rest or [None])[0]
    if receiver is None:
        rest = [name for name in names if name != writer]
        receiver = (rest or [None])[0]
    assert writer and receiver and writer != receiver, f"Writer {writer!r} and receiver {receiver!r} in: {goal}"
    return writer, receiver


def open_mail(agent, writer, goal):
    """Open the mail of this writer; of several, the one whose subject the goal names, or else the first."""
    chosen = None
    for thread in agent.find("//*[contains(concat(' ', @class, ' '), ' email-thread ')]"):
        sender = agent.find(thread["xpath"] + "//*[contains(concat(' ', @class, ' '), ' email-sender ')]")
        if not sender or sender[0]["text"].strip() != writer:
            continue
        subject = agent.find(thread["xpath"] + "//*[contains(concat(' ', @class, ' '), ' email-subject ')]")
        named = bool(subject) and subject[0]["text"].strip(" .") != "" and subject[0]["text"].strip(" .") in goal
        if chosen is None or named:
            chosen = sender[0]["xpath"]
        if named:
            break
    if chosen is None:
        # not in the list: look with the search of the page
        click(agent, "//*[@id='open-search']", "Step 1")
        field = shown(agent, "//input[@id='search-input']")
        assert field, f"Step 1: no mail from {writer}, and no search field."
        check(agent.click_xpath(field[0]["xpath"]), "Step 1")
        check(agent.type(writer), "Step 1")
        hits = [hit for hit in shown(agent, "//*[@id='search-results']//*") if hit["text"].strip() == writer]
        if not hits:
            check(agent.press_key("enter"), "Step 1")
            hits = [hit for hit in shown(agent, "//*[@id='search-results']//*") if hit["text"].strip() == writer]
        assert hits, f"Step 1: there is no mail from {writer}."
        chosen = hits[-1]["xpath"]
    return click(agent, chosen, "Step 1")


def send_forward(agent, receiver):
    """In the open form for forwarding, put in the receiver and send."""
    fields = shown(agent, "//*[@id='forward']//input[contains(@class, 'forward-sender')]")
    fields = fields or shown(agent, "//*[@id='forward']//input")
    assert fields, "Step 3: the form for forwarding is not open."
    field = fields[0]["xpath"]
    held = fields[0]["attributes"].get("value") or ""
    if held != receiver:
        check(agent.select_text(field) if held else agent.click_xpath(field), "Step 3")
        check(agent.type(receiver), "Step 3")
        held = agent.find(field)[0]["attributes"].get("value")
        assert held == receiver, f"Step 3: the receiver should be {receiver!r}, but the field holds {held!r}."
    return check(agent.click_xpath("//*[@id='send-forward']"), "Step 3")


def solve(agent, task):
    senders = [found["text"].strip()
               for found in agent.find("//*[contains(@class, 'email-thread')]//*[contains(@class, 'email-sender')]")]
    writer, receiver = read_names(task.goal, senders)

    # [Step 1] Open the mail of the writer
    page = open_mail(agent, writer, task.goal)
    sender = shown(agent, "//*[@id='email']//*[contains(@class, 'email-sender')]")
    assert sender and sender[0]["text"].strip() == writer, f"Step 1: the mail of {writer} is not open: {page[-800:]}"

    # [Step 2] Forward
    page = click(agent, "//*[@id='email']//*[contains(@class, 'email-forward')]", "Step 2")

    # [Step 3] Put in the receiver and send; this ends the task
    page = send_forward(agent, receiver)
