"""Finding things on a page by what they say."""


def addresses(agent, xpath, text):
    """The xpaths of the visible elements that xpath matches and whose whole text is the given one."""
    return [found["xpath"] for found in agent.find(xpath) if found["visible"] and found["text"] == text]


def texts(agent, xpath):
    """The texts of what xpath matches, in the page's order."""
    return [found["text"] for found in agent.find(xpath)]
