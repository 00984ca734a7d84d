"""Click a button on a post of the user; the buttons without an icon are in the menu under the post's three dots.

world: miniwob
type: social-media
source: written by hand
"""


def solve(agent, task):
    user, button = task.params["user"], task.params["button"]
    post = f"(//*[@class='media'][.//*[@class='username'][text()='{user}']])[1]"
    if button in ("Reply", "Retweet", "Like"):
        agent.click_xpath(f"{post}//*[@class='{button.lower()}']")
    else:
        agent.click_xpath(f"{post}//*[@class='more']")
        agent.click_xpath(f"{post}//li[starts-with(text(), '{button}')]")
