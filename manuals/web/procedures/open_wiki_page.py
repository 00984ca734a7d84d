"""Open the wiki page with a certain heading.

world: web
type: open_wiki_page
source: written by hand
uses: pages
"""


def solve(agent, task):
    heading = task.params["heading"]
    press(agent, "link", "Wiki")
    if not named(agent, "heading", heading):
        pages = [found for found in search(agent, heading) if f": = {heading} =" in found["name"]]
        agent.click(pages[0]["id"])
    agent.stop()
