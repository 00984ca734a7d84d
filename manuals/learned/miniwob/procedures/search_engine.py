"""Do a task of type search-engine.

world: miniwob
type: search-engine
source: learnt from search-engine/460 by exchange/planner
"""


import re

FIELD_XPATHS = (
    "//input[@id='search-text']",
    "//*[@id='search-bar']//input",
    "//*[@id='area']//input[@type='text' or not(@type)]",
)
BUTTON_XPATHS = (
    "//button[@id='search']",
    "//button[normalize-space()='Search']",
    "//*[@id='search-bar']//button",
    "//input[@type='submit' or @type='button']",
)
NEXT_XPATHS = (
    "//*[@id='pagination']/li[contains(concat(' ', @class, ' '), ' next ') and not(contains(@class, 'disabled'))]/a",
    "//*[@id='pagination']/li[not(contains(@class, 'disabled'))]/a[normalize-space()='>']",
)


def first_visible(agent, xpaths):
    """The visible element that the first fitting one of several XPaths matches, or None."""
    for xpath in xpaths:
        for found in agent.find(xpath):
            if found["visible"]:
                return found
    return None


def check(page, step):
    """Assert that an action was carried out."""
    assert not page.startswith("Nothing happens"), f"{step}: {page.splitlines()[0]}"
    return page


def wanted(task):
    """The word to search for and the rank of the result, the first being 1."""
    word = task.params.get("query")
    if word is None:
        match = re.search(r'"([^"]*)"', task.goal)
        assert match, f"No word to search for in the goal: {task.goal}"
        word = match.group(1)
    match = re.search(r"\d+", str(task.params.get("rank", "")))
    if match is None:
        match = re.search(r"(\d+)\s*(?:st|nd|rd|th)\b", task.goal)
    assert match, f"No rank in the goal: {task.goal}"
    return str(word), int(match.group(0 if match.re.groups == 0 else 1))


def enter_text(agent, word):
    """Make the search field hold exactly this word."""
    field = first_visible(agent, FIELD_XPATHS)
    assert field, "Step 1: there is no text field."
    held = field["attributes"].get("value") or ""
    if held == word:
        return
    if held:
        check(agent.select_text(field["xpath"]), "Step 1")
    else:
        check(agent.click_xpath(field["xpath"]), "Step 1")
    page = check(agent.type(word), "Step 1")
    held = agent.find(field["xpath"])[0]["attributes"].get("value")
    assert held == word, f"Step 1: the field should hold {word!r}, but holds {held!r}: {page[:300]}"


def result_links(agent):
    """The results shown now, by their number counted from 0 through all pages."""
    links = {}
    for link in agent.find("//a[@data-result]"):
        if link["visible"] and str(link["attributes"]["data-result"]).isdigit():
            links[int(link["attributes"]["data-result"])] = link
    return links


def find_result(agent, rank):
    """Turn the pages of results until the one with this rank is there; return its link."""
    seen = set()
    while True:
        links = result_links(agent)
        if rank - 1 in links:
            return links[rank - 1]
        shown = tuple(sorted(links))
        assert shown and shown not in seen, f"Step 3: result {rank} is not there; shown are {shown} (from 0)."
        seen.add(shown)
        link = first_visible(agent, NEXT_XPATHS)
        assert link, f"Step 3: no next page, and result {rank} is not among {shown} (from 0)."
        check(agent.click_xpath(link["xpath"]), "Step 3")


def solve(agent, task):
    word, rank = wanted(task)

    # [Step 1] Put the word into the text field
    enter_text(agent, word)

    # [Step 2] Search
    button = first_visible(agent, BUTTON_XPATHS)
    assert button, "Step 2: there is no search button."
    page = check(agent.click_xpath(button["xpath"]), "Step 2")
    assert result_links(agent), f"Step 2: the search brought no results: {page[:500]}"

    # [Step 3] Turn to the page with the result
    link = find_result(agent, rank)

    # [Step 4] Click on it; this ends the task
    link_xpath = link["xpath"]
    page = agent.click_xpath(link_xpath)
    if page.startswith("Nothing happens"):
        check(agent.scroll(link_xpath, 50), "Step 4")
        check(agent.click_xpath(link_xpath), "Step 4")
