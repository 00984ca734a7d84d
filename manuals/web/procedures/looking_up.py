"""Procedures that look something up and answer a question.

world: web
source: written by hand
uses: pages, tickets
"""

import re


def busiest_component(agent, task):
    """Answer which component has the most open tickets of a milestone.

    type: busiest_component
    """
    tickets = list_tickets(agent, {"milestone": task.params["milestone"]})
    components = [ticket["Component"] for ticket in tickets]
    agent.stop(max(components, key=components.count))


def count_by_purpose(agent, task):
    """Count the open tickets of the component whose purpose the goal describes.

    type: count_by_purpose
    """
    agent.goto("/wiki")
    press(agent, "link", "Components and what they are for")
    component = [texts[0] for texts in table_rows(agent) if task.params["purpose"].lower() in texts[-1].lower()][0]
    agent.stop(str(len(list_tickets(agent, {"component": component}))))


def count_tickets(agent, task):
    """Count the open tickets whose fields have certain values.

    type: count_tickets
    """
    component = task.params.get("component")
    if component and not is_component(agent, component):
        agent.stop(f"N/A: there is no component {component}")
    agent.stop(str(len(list_tickets(agent, task.params))))


def figure_in_force(agent, task):
    """Read a cell of a table in the wiki. A page that is out of date links to the current one.

    type: figure_in_force
    """
    agent.goto("/wiki")
    press(agent, "link", task.params["topic"])
    while agent.find("paragraph", "out of date"):
        notice = agent.find("paragraph", "out of date")[0]
        agent.click(element_after(agent, "paragraph", notice["name"], "link")["id"])
    agent.stop(cell_text(agent, task.params["row"], task.params["column"]))


def follow_duplicates(agent, task):
    """Follow duplicates from a ticket to the original, and answer with one of its fields.

    type: follow_duplicates
    """
    open_titled(agent, task.params["summary"])
    while True:
        others = re.findall(r"Duplicate of #(\d+)", "\n".join([text for _, text in read_comments(agent)]))
        if not others:
            agent.stop(field_value(agent, task.params["field"]))
        agent.goto(f"/ticket/{others[-1]}")


def mentions(agent, task):
    """List the tickets, including closed ones, with a comment that contains certain words.

    type: mentions
    """
    found = []
    for number in ticket_numbers(list_tickets(agent, task.params["where"], closed=True)):
        agent.goto(f"/ticket/{number}")
        if any([task.params["words"] in text for _, text in read_comments(agent)]):
            found.append(number)
    agent.stop(", ".join([str(number) for number in found]))


def sum_column(agent, task):
    """Add up the numbers in a column of a table in the wiki.

    type: sum_column
    """
    agent.goto("/wiki")
    press(agent, "link", task.params["page"])
    table = table_rows(agent)
    place = table[0].index(task.params["column"])
    agent.stop(str(sum([int(texts[place]) for texts in table[1:]])))


def table_cell(agent, task):
    """Read one cell of a table in the wiki.

    type: table_cell
    """
    agent.goto("/wiki")
    press(agent, "link", task.params["page"])
    found = cell_text(agent, task.params["row"], task.params["column"])
    agent.stop(found or f"N/A: the table has no row {task.params['row']}")


def ticket_field(agent, task):
    """Find a ticket by its summary and answer with one of its fields.

    type: ticket_field
    """
    if open_titled(agent, task.params["summary"]):
        agent.stop(field_value(agent, task.params["field"]))
    agent.stop("N/A: there is no such ticket")


def uncommented(agent, task):
    """List the open tickets that have no comment.

    type: uncommented
    """
    found = []
    for number in ticket_numbers(list_tickets(agent, task.params["where"])):
        agent.goto(f"/ticket/{number}")
        if not read_comments(agent):
            found.append(str(number))
    agent.stop(", ".join(found))


def who_mentions(agent, task):
    """List who wrote the comments with certain words on certain tickets.

    type: who_mentions
    """
    found = set()
    for number in ticket_numbers(list_tickets(agent, task.params["where"], closed=True)):
        agent.goto(f"/ticket/{number}")
        found |= {author for author, text in read_comments(agent) if task.params["words"] in text}
    agent.stop(", ".join(sorted(found)))
