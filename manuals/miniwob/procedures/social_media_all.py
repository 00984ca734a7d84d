"""Click a button on every post of the user, then submit.

world: miniwob
type: social-media-all
source: written by hand
uses: posts
"""


def solve(agent, task):
    press_on_posts(agent, task.params["user"], task.params["button"])
