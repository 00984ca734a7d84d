"""Procedures for games, and for a terminal.

world: miniwob
source: written by hand
"""

import re
from functools import cache


def shown(agent, answer):
    return agent.find(f"//*[@id='{answer}']")[0]["visible"]


def guess_number(agent, task):
    """Guess a number from 0 to 9: halve the remaining range after each answer.

    type: guess-number
    """
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


def files(agent):
    """Return the files that ls printed: the words of the last output that is not empty."""
    outputs = [found["text"] for found in agent.find("//*[@class='terminal-output']") if found["text"]]
    return outputs[-1].split()


def fits(name, extension):
    """Return whether a name has the extension. The page does not accept a name that contains these letters twice."""
    if not extension:
        return "." not in name
    return name.endswith("." + extension) and name.find(extension) + len(extension) == len(name)


def terminal(agent, task):
    """List the files in the terminal and remove one that has the wanted extension, or no extension if the goal says so.

    type: terminal
    """
    found = re.search(r"extension \.(\S+)", task.goal)
    extension = found.group(1) if found else ""
    agent.click_xpath("//*[@id='terminal']")
    agent.type("ls")
    agent.press_key("enter")
    names = files(agent)
    good = [name for name in names if fits(name, extension)]
    usable = good or [name for name in names if name.endswith("." + extension)]
    agent.type("rm " + usable[0])
    agent.press_key("enter")


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
RANDOM = 0.55
MARKS = {"mark-x": "x", "mark-o": "o"}


def wins(board, mark):
    return any(all(board[place] == mark for place in line) for line in LINES)


def free(board):
    return [place for place in range(9) if board[place] == " "]


def put(board, place, mark):
    return board[:place] + mark + board[place + 1 :]


def completing(board, mark):
    """Return the places that would complete a line of this mark."""
    return [place for place in free(board) if wins(put(board, place, mark), mark)]


@cache
def chance(board):
    """Return the probability that X wins when it is X's turn."""
    return max((chance_after(put(board, place, "x")) for place in free(board)), default=0.0)


@cache
def chance_after(board):
    """Return the probability that X wins after its move. The opponent plays well or at random; a draw counts as 0."""
    if wins(board, "x"):
        return 1.0
    places = free(board)
    if not places:
        return 0.0
    clever = completing(board, "o") or completing(board, "x") or places
    return RANDOM * mean_answer(board, places) + (1 - RANDOM) * mean_answer(board, clever)


def mean_answer(board, places):
    answers = [put(board, place, "o") for place in places]
    return sum(0.0 if wins(answer, "o") else chance(answer) for answer in answers) / len(answers)


def seen(agent):
    cells = agent.find("//*[@class='ttt-row']/span")
    return "".join(MARKS.get(cell["attributes"].get("class", ""), " ") for cell in cells)


def tic_tac_toe(agent, task):
    """Play tic-tac-toe as X: search to the end of the game. The opponent mostly plays at random.

    type: tic-tac-toe
    """
    board = seen(agent)
    while free(board):
        best = max(free(board), key=lambda place: chance_after(put(board, place, "x")))
        agent.click_xpath(f"//*[@id='ttt-{best}']")
        board = seen(agent)
