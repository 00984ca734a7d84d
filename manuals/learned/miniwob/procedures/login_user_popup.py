"""Do a task of type login-user-popup.

world: miniwob
type: login-user-popup
source: learnt from login-user-popup/460 by exchange/planner
"""


import re

CLICKABLE = "//button | //a | //input[@type='button' or @type='submit'] | //*[@onclick] | //*[@role='button']"
REFUSE = ("cancel", "no", "no thanks", "close", "dismiss", "x", "×", "✕", "not now", "skip", "stay", "later")
ACCEPT = ("ok", "okay", "yes", "continue", "got it", "accept")
LIMIT = 20


class Page:
    """The page, with the count of the actions and what could be clicked at the beginning."""

    def __init__(self, agent):
        self.agent = agent
        self.actions = 0
        self.before = {self.sign(found) for found in agent.find(CLICKABLE)}

    def sign(self, found):
        """What tells an element from others, wherever it stands."""
        attributes = found["attributes"]
        return found["tag"], attributes.get("id"), attributes.get("class"), found["text"].strip()

    def act(self, method, *arguments):
        """One action; returns the HTML."""
        assert self.actions < LIMIT, f"No action is left before {method}{arguments}."
        self.actions += 1
        return getattr(self.agent, method)(*arguments)

    def popup_button(self):
        """What closes a popup that has come up, or None: what refuses first, what accepts only where there is no other."""
        new = [f for f in self.agent.find(CLICKABLE) if f["visible"] and self.sign(f) not in self.before]
        for words in (REFUSE, ACCEPT):
            for found in new:
                if found["text"].strip().lower() in words:
                    return found
        for found in self.agent.find("//*"):
            if found["visible"] and found["text"].strip().lower() in REFUSE and self.sign(found) not in self.before:
                return found
        for found in new:
            names = f"{found['attributes'].get('id')} {found['attributes'].get('class')}".lower()
            if re.search(r"close|cancel|dismiss", names):
                return found
        return new[0] if new else None

    def clear_popups(self):
        """Close every popup that has come up."""
        for _ in range(3):
            found = self.popup_button()
            if found is None:
                return
            self.act("click_xpath", found["xpath"])


def lasting(found):
    """An XPath for an element that holds also when others come into the page."""
    name = found["attributes"].get("id")
    return f"//*[@id='{name}']" if name and "'" not in name else found["xpath"]


def field_for(agent, word, kind):
    """The XPath of the visible field that is for this word (username, password), by type, id, name or label."""
    inputs = [f for f in agent.find("//input[not(@type='button') and not(@type='submit')]") if f["visible"]]
    if kind == "password":
        chosen = [f for f in inputs if f["attributes"].get("type") == "password"]
        if chosen:
            return lasting(chosen[0])
    for found in inputs:
        attributes = found["attributes"]
        names = " ".join(str(attributes.get(key) or "") for key in ("id", "name", "placeholder")).lower()
        if word in names:
            return lasting(found)
    for found in inputs:
        label = agent.find(found["xpath"] + "/preceding::label[1]")
        if label and word in label[0]["text"].lower():
            return lasting(found)
    others = [f for f in inputs if f["attributes"].get("type") != "password"]
    assert kind != "password" and others, f"There is no field for the {word} among {inputs}."
    return lasting(others[0])


def held_by(agent, xpath):
    """What a field holds now."""
    found = agent.find(xpath)
    return (found[0]["attributes"].get("value") or "") if found else None


def fill_field(page, xpath, text, step):
    """Make a field hold exactly this text, closing popups that come up on the way."""
    for _ in range(4):
        page.clear_popups()
        held = held_by(page.agent, xpath)
        if held == text:
            return
        answer = page.act("select_text" if held else "click_xpath", xpath)
        if page.popup_button() is not None:
            continue
        if not answer.startswith("Nothing happens"):
            page.act("type", text)
    page.clear_popups()
    held = held_by(page.agent, xpath)
    assert held == text, f"{step}: {xpath} should hold {text!r}, but holds {held!r}."


def solve(agent, task):
    username, password = task.params.get("username"), task.params.get("password")
    if username is None or password is None:
        quoted = re.findall(r'"([^"]*)"', task.goal)
        assert len(quoted) >= 2, f"Username and password are not in the goal: {task.goal}"
        username, password = quoted[0], quoted[1]

    page = Page(agent)
    user_field = field_for(agent, "user", "text")
    password_field = field_for(agent, "password", "password")
    buttons = [f for f in agent.find("//button | //input[@type='submit' or @type='button']") if f["visible"]]
    assert buttons, "There is no button to log in with."
    named = [f for f in buttons
             if re.search(r"log ?in|sign ?in|submit", f"{f['text']} {f['attributes'].get('value')}".lower())]
    button = lasting((named or buttons)[0])

    # [Step 1] and [Step 2] Fill both fields; a popup may have emptied the first, so look at both again
    for _ in range(2):
        fill_field(page, user_field, username, "Step 1")
        fill_field(page, password_field, password, "Step 2")
        if held_by(agent, user_field) == username:
            break
    held = (held_by(agent, user_field), held_by(agent, password_field))
    assert held == (username, password), f"Step 2: the fields should hold {(username, password)}, but hold {held}."

    # [Step 3] Log in; this ends the task
    answer = page.act("click_xpath", button)
    for _ in range(2):
        page.clear_popups()
        fill_field(page, user_field, username, "Step 3")
        fill_field(page, password_field, password, "Step 3")
        answer = page.act("click_xpath", button)
    raise AssertionError(f"Step 3: logging in did not end the task: {answer[:500]}")
