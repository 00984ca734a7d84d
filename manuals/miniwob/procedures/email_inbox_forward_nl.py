"""Forward a person's mail to another person, as a freely worded sentence asks.

world: miniwob
type: email-inbox-forward-nl
source: written by hand
uses: mail
"""


def solve(agent, task):
    forward(agent, task.params["by"], task.params["to"])
