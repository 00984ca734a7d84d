"""Click a button on a post of the user; the buttons without an icon are in the menu under its "more".

world: miniwob
type: social-media
source: written by hand
"""


ICONS = {"Reply": "reply", "Retweet": "retweet", "Like": "like"}


def solve(agent, task):
    button = task.params["button"]
    post = f"//*[@class='media'][.//*[@class='username'][text()='{task.params['user']}']]"
    if button in ICONS:
        agent.click_xpath(f"{post}//*[@class='{ICONS[button]}']")
    else:
        agent.click_xpath(f"{post}//*[@class='more']")
        agent.click_xpath(f"({post})[1]//li[starts-with(text(), '{button}')]")
