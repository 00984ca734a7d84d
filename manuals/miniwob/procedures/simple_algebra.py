"""Solve the equation for x, type the answer and submit.

world: miniwob
type: simple-algebra
source: written by hand
"""


def solve(agent, task):
    problem = agent.find("//*[@id='math-problem']")[0]["text"]  # x - 3 = 60
    agent.click_xpath("//*[@id='math-answer']")
    agent.type(str(solution(problem)))
    agent.click_xpath("//*[@id='subbtn']")


def solution(problem):
    left, sign, right, _, result = problem.split()
    if sign == "+":
        return int(result) - int(right if left == "x" else left)
    if left == "x":
        return int(result) + int(right)
    return int(left) - int(result)
