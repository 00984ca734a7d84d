"""Count the figures that have every property in the question, and click that number.

world: miniwob
type: count-shape
source: written by hand
uses: figures
"""


def solve(agent, task):
    wanted = set(task.params.values())
    figures = agent.find("//*[@id='area_svg']/*")
    count = len([figure for figure in figures if wanted <= words_for(figure)])
    agent.click_xpath(f"//*[@id='count-buttons']/button[text()='{count}']")
