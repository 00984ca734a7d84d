"""Play tic-tac-toe as X: look ahead to the end, against an opponent who plays at random more than half of the time.

world: miniwob
type: tic-tac-toe
source: written by hand
"""

from functools import cache

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
    """The places that would complete a line of this mark."""
    return [place for place in free(board) if wins(put(board, place, mark), mark)]


@cache
def chance(board):
    """How likely X, to move, is to win."""
    return max((chance_after(put(board, place, "x")) for place in free(board)), default=0.0)


@cache
def chance_after(board):
    """How likely X is to win once it has moved: the opponent answers, cleverly or not; a draw counts for nothing."""
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


def solve(agent, task):
    board = seen(agent)
    while free(board):
        best = max(free(board), key=lambda place: chance_after(put(board, place, "x")))
        agent.click_xpath(f"//*[@id='ttt-{best}']")
        board = seen(agent)
