"""Find a person's mail and reply to it, forward it, delete it or mark it, as a freely worded sentence asks.

world: miniwob
type: email-inbox-nl-turk
source: written by hand
uses: mail
"""


def solve(agent, task):
    handle(agent, task.params)
