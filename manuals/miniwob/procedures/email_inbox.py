"""Find a person's mail and reply to it, forward it, delete it or mark it.

world: miniwob
type: email-inbox
source: written by hand
uses: mail
"""


def solve(agent, task):
    handle(agent, task.params)
