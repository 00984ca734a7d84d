"""Procedures for games, and for a terminal.

world: miniwob
source: written by hand
"""

import re
from functools import cache


def is_shown(agent, answer):
    """Return whether the page shows this answer, such as ``lower``."""
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
        if is_shown(agent, "lower"):
            high = guess - 1
        else:
            low = guess + 1


def listed_files(agent):
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
    names = listed_files(agent)
    unambiguous = [name for name in names if fits(name, extension)]
    candidates = unambiguous or [name for name in names if name.endswith("." + extension)]
    agent.type("rm " + candidates[0])
    agent.press_key("enter")


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
RANDOM = 0.55  # probability that the opponent moves at random
MARKS = {"mark-x": "x", "mark-o": "o"}


def wins(board, mark):
    """Return whether a mark fills a line."""
    return any(all(board[place] == mark for place in line) for line in LINES)


def free_places(board):
    """Return the places without a mark."""
    return [place for place in range(9) if board[place] == " "]


def with_mark(board, place, mark):
    """Return the board with one more mark."""
    return board[:place] + mark + board[place + 1 :]


def winning_places(board, mark):
    """Return the places that would complete a line of this mark."""
    return [place for place in free_places(board) if wins(with_mark(board, place, mark), mark)]


@cache
def win_probability(board):
    """Return the probability that X wins when it is X's turn."""
    return max((win_probability_after(with_mark(board, place, "x")) for place in free_places(board)), default=0.0)


@cache
def win_probability_after(board):
    """Return the probability that X wins after its move. The opponent plays well or at random. A draw counts as 0."""
    if wins(board, "x"):
        return 1.0
    places = free_places(board)
    if not places:
        return 0.0
    best_replies = winning_places(board, "o") or winning_places(board, "x") or places
    return RANDOM * mean_over_replies(board, places) + (1 - RANDOM) * mean_over_replies(board, best_replies)


def mean_over_replies(board, places):
    """Return the mean probability that X wins, over the opponent's moves to these places."""
    boards = [with_mark(board, place, "o") for place in places]
    return sum(0.0 if wins(reply, "o") else win_probability(reply) for reply in boards) / len(boards)


def read_board(agent):
    """Return the board as a string with one character for each place: x, o or a space."""
    cells = agent.find("//*[@class='ttt-row']/span")
    return "".join(MARKS.get(cell["attributes"].get("class", ""), " ") for cell in cells)


def tic_tac_toe(agent, task):
    """Play tic-tac-toe as X: search to the end of the game. The opponent mostly plays at random.

    type: tic-tac-toe
    """
    board = read_board(agent)
    while free_places(board):
        best = max(free_places(board), key=lambda place: win_probability_after(with_mark(board, place, "x")))
        agent.click_xpath(f"//*[@id='ttt-{best}']")
        board = read_board(agent)
