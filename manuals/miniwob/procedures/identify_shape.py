"""Click the button that says what the figure is.

world: miniwob
type: identify-shape
source: written by hand
uses: figures
"""


def solve(agent, task):
    words = words_for(agent.find("//*[@id='area_svg']/*")[0])
    for button in agent.find("//*[@id='area-buttons']/button"):
        if button["attributes"]["data-type"] in words:
            agent.click_xpath(button["xpath"])
