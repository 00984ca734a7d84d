"""Procedures that open a page.

world: web
source: written by hand
uses: pages, tickets
"""


def open_milestone(agent, task):
    """Open a milestone from the roadmap.

    type: open_milestone
    """
    agent.goto("/roadmap")
    press(agent, "link", f"Milestone: {task.params['milestone']}")
    agent.stop()


def open_query(agent, task):
    """Open the list of open tickets whose fields have certain values.

    type: open_query
    """
    agent.goto(query_address(task.params))
    agent.stop()


def open_report(agent, task):
    """Open the report with exactly this title, since several are similar.

    type: open_report
    """
    agent.goto("/report")
    for link in agent.find("link", task.params["title"]):
        if link["name"].split("} ")[-1] == task.params["title"]:
            agent.click(link["id"])
            agent.stop()


def open_ticket(agent, task):
    """Find a ticket by its summary and open it.

    type: open_ticket
    """
    open_titled(agent, task.params["summary"])
    agent.stop()


def open_wiki_page(agent, task):
    """Open the wiki page with a certain heading.

    type: open_wiki_page
    """
    heading = task.params["heading"]
    press(agent, "link", "Wiki")
    if not elements_named(agent, "heading", heading):
        pages = [found for found in search(agent, heading) if f": = {heading} =" in found["name"]]
        agent.click(pages[0]["id"])
    agent.stop()
