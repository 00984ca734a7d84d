"""Find elements of a page by role and name, and act on them."""


def elements_named(agent, role, name):
    """Return the elements with this role and exactly this name, ignoring case."""
    return [found for found in agent.find(role, name) if found["name"].lower() == name.lower()]


def element_named(agent, role, name):
    """Return the first element with this role and exactly this name, ignoring case."""
    found = elements_named(agent, role, name)
    if not found:
        raise LookupError(f"no {role} is named {name!r} on this page")
    return found[0]


def element_after(agent, role, name, wanted_role):
    """Return the first element with the role ``wanted_role`` after the element with this role and name."""
    start_id = element_named(agent, role, name)["id"]
    elements = agent.find()
    start = [element["id"] for element in elements].index(start_id)
    return [element for element in elements[start + 1 :] if element["role"] == wanted_role][0]


def press(agent, role, name):
    """Click on the element with this role and name."""
    agent.click(element_named(agent, role, name)["id"])


def fill(agent, label, text):
    """Replace the content of the text field with this label."""
    agent.type(element_named(agent, "textbox", label)["id"], text, False)


def choose(agent, label, option):
    """Choose an option in the select box with this label."""
    agent.select(element_named(agent, "combobox", label)["id"], option)


def table_rows(agent):
    """Return the table rows of the page, each as a list of the texts of its cells."""
    found = []
    for element in agent.find():
        if element["role"] == "row":
            found.append([])
        elif element["role"] in ("cell", "columnheader", "rowheader") and found:
            found[-1].append(element["name"])
    return found


def cell_text(agent, row, column):
    """Return the text in a column of the first row whose first cell is ``row``, or None if there is no such row."""
    place = None
    for texts in table_rows(agent):
        if column in texts:
            place = texts.index(column)
        elif place is not None and texts[:1] == [row]:
            return texts[place]
    return None


def search(agent, text):
    """Search the whole site for a phrase, and return the links to the results."""
    agent.type(agent.find("textbox")[0]["id"], f'"{text}"')
    return [found for found in agent.find("link") if ":" in found["name"] and found["name"] != "wiki:"]
