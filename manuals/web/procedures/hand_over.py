"""Reassign each ticket of a list to another owner.

world: web
type: hand_over
source: written by hand
uses: pages, tickets
"""


def solve(agent, task):
    for number in numbers(listed(agent, task.params["where"])):
        agent.goto(f"/ticket/{number}")
        open_form(agent)
        press(agent, "radio", "reassign")
        agent.type(after(agent, "radio", "reassign", "textbox")["id"], task.params["to"], False)
        submit(agent)
    agent.stop()
