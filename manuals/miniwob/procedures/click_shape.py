"""Click on any figure of the drawing that fits the goal's size, colour and kind.

world: miniwob
type: click-shape
source: written by hand
"""

SHAPES = {"circle": "circle", "rect": "rectangle", "polygon": "triangle"}


def solve(agent, task):
    figures = agent.find("//*[@id='area_svg']/*")
    fitting = [figure for figure in figures if fits(figure, task.params)]
    agent.click_xpath(fitting[0]["xpath"])


def fits(figure, wanted):
    """Whether a figure has all the wanted properties; any figure is an item, and a letter or digit its own target."""
    text = SHAPES.get(figure["tag"], figure["text"])
    kind = "shape" if figure["tag"] in SHAPES else "digit" if text.isdigit() else "letter"
    properties = {
        "size": "large" if figure["box"]["height"] > 15 else "small",
        "color": figure["attributes"]["fill"],
        "type": kind,
        "target": text,
    }
    return all(value in (properties[name], "item") for name, value in wanted.items())
