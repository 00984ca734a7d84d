"""Press the same button on several posts of one user.

world: miniwob
source: written by hand
"""


def press_on_posts(agent, user, button, amount=None):
    """Press Reply, Retweet, Like or Share on the user's first posts (all of them without an amount), then submit."""
    posts = f"//*[@class='media'][.//*[@class='username'][text()='{user}']]"
    for icon in agent.find(f"{posts}//*[@class='{button.lower()}']")[:amount]:
        agent.click_xpath(icon["xpath"])
    agent.click_xpath("//button[text()='Submit']")
