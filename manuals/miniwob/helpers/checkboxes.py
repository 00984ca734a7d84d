"""Ticking boxes by the words beside them."""


def tick_and_submit(agent, wanted):
    """Tick each box whose label is one of the wanted words, then click Submit."""
    for label in agent.find("//label"):
        if label["text"] in wanted:
            agent.click_xpath(label["xpath"] + "/input")
    agent.click_xpath("//button[text()='Submit']")
