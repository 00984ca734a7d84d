"""Click a button on as many posts of the user as the goal says, then submit.

world: miniwob
type: social-media-some
source: written by hand
uses: posts
"""


def solve(agent, task):
    press_on_posts(agent, task.params["user"], task.params["button"], int(task.params["amount"]))
