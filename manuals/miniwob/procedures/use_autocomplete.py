"""Type the beginning, choose the suggestion with the right ending, and submit.

world: miniwob
type: use-autocomplete
source: written by hand
"""


def solve(agent, task):
    start, end = task.params["start"], task.params.get("end", "")
    agent.click_xpath("//*[@id='tags']")
    agent.type(start)
    for item in agent.find("//ul[contains(@class, 'ui-autocomplete')]/li"):
        if item["text"].startswith(start) and item["text"].endswith(end):
            agent.click_xpath(item["xpath"])
            agent.click_xpath("//*[@id='subbtn']")
