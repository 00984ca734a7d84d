"""Procedures that change what the site stores.

world: web
source: written by hand
uses: pages, tickets
"""


def close_ticket(agent, task):
    """Close a ticket with a resolution and a comment.

    type: close_ticket
    """
    if not open_titled(agent, task.params["summary"]):
        agent.stop("N/A: there is no such ticket")
    open_form(agent)
    press(agent, "radio", "resolve")
    agent.select(element_after(agent, "radio", "resolve", "combobox")["id"], task.params["resolution"])
    add_comment(agent, task.params["comment"])
    agent.stop()


def comment_on_all(agent, task):
    """Add the same comment to every ticket in a list.

    type: comment_on_all
    """
    for number in ticket_numbers(list_tickets(agent, task.params["where"])):
        agent.goto(f"/ticket/{number}")
        add_comment(agent, task.params["comment"])
    agent.stop()


def component_owner(agent, task):
    """Change the owner of a component.

    type: component_owner
    """
    agent.goto("/admin/ticket/components")
    press(agent, "link", task.params["component"])
    fill(agent, "Owner:", task.params["owner"])
    press(agent, "button", "Submit changes")
    agent.stop()


def create_ticket(agent, task):
    """Create a ticket with the given fields.

    type: create_ticket
    """
    agent.goto("/newticket")
    for name, value in task.params.items():
        label = f"{name.capitalize()}:"
        if name == "description":
            fill(agent, f"{label} {COMMENT}", value)
        elif name in ("summary", "keywords"):
            fill(agent, label, value)
        else:
            choose(agent, label, value)
    press(agent, "button", "Create ticket")
    agent.stop()


def due_date(agent, task):
    """Change the due date of a milestone.

    type: due_date
    """
    agent.goto("/roadmap")
    press(agent, "link", f"Milestone: {task.params['milestone']}")
    press(agent, "button", "Edit milestone")
    agent.type(element_after(agent, "checkbox", "Due:", "textbox")["id"], f"{task.params['date']}T12:00:00Z", False)
    press(agent, "button", "Submit changes")
    agent.stop()


def edit_wiki(agent, task):
    """Replace some text on a wiki page and leave the rest as it is.

    type: edit_wiki
    """
    agent.goto(f"/wiki/{task.params['page']}?action=edit")
    text = element_after(agent, "checkbox", "Edit side-by-side", "textbox")
    agent.type(text["id"], text["value"].replace(task.params["old"], task.params["new"]), False)
    press(agent, "button", "Submit changes")
    agent.stop()


def hand_over(agent, task):
    """Reassign each ticket in a list to another owner.

    type: hand_over
    """
    for number in ticket_numbers(list_tickets(agent, task.params["where"])):
        agent.goto(f"/ticket/{number}")
        open_form(agent)
        press(agent, "radio", "reassign")
        agent.type(element_after(agent, "radio", "reassign", "textbox")["id"], task.params["to"], False)
        submit(agent)
    agent.stop()


def list_on_page(agent, task):
    """Create a wiki page that lists ticket numbers.

    type: list_on_page
    """
    found = ticket_numbers(list_tickets(agent, task.params["where"]))
    agent.goto(f"/wiki/{task.params['page']}?action=edit")
    text = element_after(agent, "checkbox", "Edit side-by-side", "textbox")
    agent.type(text["id"], "\n".join([f"#{number}" for number in found]), False)
    press(agent, "button", "Submit changes")
    agent.stop()


def move_tickets(agent, task):
    """Change the milestone of all tickets in a list in one step, with the form below the list.

    type: move_tickets
    """
    component = task.params["where"].get("component")
    if component and not is_component(agent, component):
        agent.stop(f"N/A: there is no component {component}")
    list_tickets(agent, task.params["where"])
    press(agent, "checkbox", "Toggle group")
    press(agent, "link", "Batch Modify")
    choose(agent, "Change:", "Milestone")
    choose(agent, "Milestone:", task.params["to"])
    press(agent, "button", "Change tickets")
    agent.stop()


def quote_comment(agent, task):
    """Comment on a ticket with a value from a table in the wiki.

    type: quote_comment
    """
    agent.goto(f"/wiki/{task.params['page']}")
    found = cell_text(agent, task.params["row"], task.params["column"])
    open_titled(agent, task.params["summary"])
    add_comment(agent, task.params["comment"].replace("...", found))
    agent.stop()


def raise_priority(agent, task):
    """Set the priority of the only open ticket that contains certain words.

    type: raise_priority
    """
    found = [link for link in search(agent, task.params["words"]) if link["name"].startswith("#")]
    agent.click([link for link in found if "(closed" not in link["name"]][0]["id"])
    open_form(agent)
    choose(agent, "Priority:", task.params["priority"])
    submit(agent)
    agent.stop()


def rename_page(agent, task):
    """Rename a wiki page.

    type: rename_page
    """
    agent.goto(f"/wiki/{task.params['page']}")
    press(agent, "button", "Rename page")
    fill(agent, "New name:", task.params["to"])
    press(agent, "button", "Rename page")
    agent.stop()
