"""Guess a number from 0 to 9: halve what is left after each answer.

world: miniwob
type: guess-number
source: written by hand
"""


def shown(agent, answer):
    return agent.find(f"//*[@id='{answer}']")[0]["visible"]


def solve(agent, task):
    low, high = 0, 9
    while low <= high:
        guess = (low + high) // 2
        agent.click_xpath("//*[@id='tt']")
        if agent.find("//*[@id='tt']")[0]["attributes"].get("value"):
            agent.press_key("backspace")
        agent.type(str(guess))
        agent.click_xpath("//*[@id='subbtn']")
        if shown(agent, "lower"):
            high = guess - 1
        else:
            low = guess + 1
