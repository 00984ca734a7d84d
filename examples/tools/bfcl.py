"""The multi-turn tasks of the Berkeley Function Calling Leaderboard (BFCL v4): 800 tasks over 8 APIs.

Install the package without its dependencies, write the task file, and play it:

    python -m pip install --no-deps bfcl-eval mpmath
    python examples/tools/bfcl.py bfcl.json        # or: bfcl.json 20, for twenty of them
    planbook run --env module:examples/tools/bfcl.py:Apis -o tasks=bfcl.json --planner react --model openai:NAME

A task is a conversation with a user. Its goal is the user's first request; ``agent.next_request()`` returns the next
one. A task is judged as in BFCL: after each turn, the state and the results must equal those of BFCL's own solution,
the ground truth.

With ``bfcl.json turns``, each turn of a conversation in the category "base" is a task. The goal is the request of this
turn. The task starts in the state after the ground truth of all earlier turns. The type names the functions that the
ground truth calls, and the params are their arguments. Conversations alternate between the splits train and test.
"""

import ast
import json
import sys
from copy import deepcopy
from functools import cache, wraps
from itertools import chain
from pathlib import Path

import bfcl_eval
from bfcl_eval.constants.default_prompts import DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC as MORE_FUNCTIONS
from bfcl_eval.constants.executable_backend_config import STATELESS_CLASSES
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.gorilla_file_system import GorillaFileSystem
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.math_api import MathAPI
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.message_api import MessageAPI
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.posting_api import TwitterAPI
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.ticket_api import TicketAPI
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.trading_bot import TradingBot
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.travel_booking import TravelAPI
from bfcl_eval.eval_checker.multi_turn_eval.func_source_code.vehicle_control import VehicleControlAPI
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import response_checker, state_checker

from planbook.envs import Task

CATEGORIES = ("base", "miss_func", "miss_param", "long_context")
DATA = Path(bfcl_eval.__file__).parent / "data"
NO_MORE = "The user has no more requests."
TicketAPI.close_ticket.__annotations__["ticket_id"] = int | str  # the ground truth of four tasks closes 'ticket_001'


class Api:
    """Wraps an API: adds all results to the list ``results``, and refuses calls of the functions in ``missing``."""

    def __init__(self, api: object, results: list[str], missing: set[str]) -> None:
        self._api, self._results, self._missing = api, results, missing

    def __getattr__(self, name: str):
        if name[0] == "_":
            raise AttributeError(name)
        function = getattr(self._api, name)

        @wraps(function)
        def call(*args, **kwargs):
            if name in self._missing:
                raise LookupError(f"{name} is not available yet")
            try:
                result = function(*args, **kwargs)
            except Exception as error:
                self._results.append(f"Error during execution: {error}")
                raise
            self._results.append(as_text(result))
            return result

        return call


class Apis:
    """Act for a user by calling APIs. The goal is the user's first request.

    Do what it asks and no more, and call `agent.next_request()` for the next request, which is often about the same
    things. If a request cannot be done, since a function or something that only the user knows is missing, do nothing
    for it: the next request may bring it. Call `agent.answer()` when the user has no more requests.
    """

    GorillaFileSystem: GorillaFileSystem
    MathAPI: MathAPI
    MessageAPI: MessageAPI
    TwitterAPI: TwitterAPI
    TicketAPI: TicketAPI
    TradingBot: TradingBot
    TravelAPI: TravelAPI
    VehicleControlAPI: VehicleControlAPI

    def __init__(self, task: Task) -> None:
        self._id, _, turn = task.id.partition("/")
        self._requests = int(turn) + 1 if turn else len(self._entry["question"])
        self._results: list[str] = []
        self._missing: set[str] = set()
        self._apis: dict[str, object] = {}
        self._turns: list[tuple[dict[str, object], list[str]]] = []
        self._update_missing()
        for name in self._entry["involved_classes"]:
            api = self._apis[name] = globals()[name]()
            if name not in STATELESS_CLASSES:
                scenario = deepcopy(self._entry["initial_config"].get(name, {}))
                api._load_scenario(scenario, long_context="long_context" in task.id)
            setattr(self, name, Api(api, self._results, self._missing))
        if turn:
            follow(self, int(turn))

    @property
    def _entry(self) -> dict:
        return entries()[self._id]

    def next_request(self) -> str:
        """Return the user's next request. What is done before it counts for this one."""
        if len(self._turns) + 1 == self._requests:
            return NO_MORE
        self._turns = self._all_turns()
        self._results.clear()
        self._update_missing()
        return request(self._entry, len(self._turns))

    def _all_turns(self) -> list[tuple[dict[str, object], list[str]]]:
        return [*self._turns, deepcopy((self._apis, list(self._results)))]

    def _update_missing(self) -> None:
        """Make functions unavailable until the turn in which BFCL adds them."""
        added_in = {int(turn): names for turn, names in self._entry.get("missed_function", {}).items()}
        self._missing.clear()
        self._missing.update(name for turn, names in added_in.items() if turn > len(self._turns) for name in names)


def judge(state: Apis) -> bool:
    """Return whether each turn of the conversation passes BFCL's checks against the ground truth."""
    turns, truth = state._all_turns(), ground_truth(state._id)[: state._requests]
    results: list[str] = []
    if len(turns) != len(truth):
        return False
    for number, ((apis, got), (true_apis, expected)) in enumerate(zip(turns, truth, strict=True)):
        results += got
        if not expected:
            continue
        if not got or not state_checker(apis, true_apis)["valid"]:
            return False
        if not response_checker(results, expected, number)["valid"]:
            return False
    return True


@cache
def ground_truth(task_id: str) -> list[tuple[dict[str, object], list[str]]]:
    """Return the state and the results after each turn of the ground truth."""
    state = Apis(Task(id=task_id, env="", split="", type="", goal="-"))
    follow(state, len(entries()[task_id]["ground_truth"]))
    return state._all_turns()


def follow(state: Apis, turns: int) -> None:
    """Make the calls of the ground truth for the first ``turns`` turns. After each turn, ask for the next request."""
    for calls in state._entry["ground_truth"][:turns]:
        for call in calls:
            try:
                eval(call, functions_of(state))
            except Exception:
                continue  # the error has been added to the results, as in BFCL
        state.next_request()


def functions_of(state: Apis) -> dict[str, object]:
    """Map the names of the functions of all APIs to the functions. The ground truth uses names without the API."""
    apis = [getattr(state, name) for name in state._apis]
    return {name: getattr(api, name) for api in apis for name in dir(api._api) if name[0] != "_"}


def as_text(result: object) -> str:
    """Return a result as text, in the form that BFCL compares."""
    try:
        return json.dumps(result) if isinstance(result, dict) else str(result)
    except TypeError:
        return str(result)


def request(entry: dict, number: int) -> str:
    """Return the user's message in a turn. If BFCL adds functions in this turn, the message only announces them."""
    return "\n".join(message["content"] for message in entry["question"][number]) or MORE_FUNCTIONS


@cache
def entries() -> dict[str, dict]:
    """Map the ids of BFCL's tasks to the tasks. Each task includes its ground truth."""
    found: dict[str, dict] = {}
    for category in CATEGORIES:
        name = f"BFCL_v4_multi_turn_{category}.json"
        found |= {entry["id"]: entry for entry in map(json.loads, (DATA / name).read_text().splitlines())}
        for answer in map(json.loads, (DATA / "possible_answer" / name).read_text().splitlines()):
            found[answer["id"]]["ground_truth"] = answer["ground_truth"]
    return found


def write_tasks(path: Path, count: int = 800) -> None:
    """Write a task file with all tasks, or with ``count`` of them at regular intervals."""
    tasks = [
        {
            "id": entry["id"],
            "type": entry["id"].removeprefix("multi_turn_").rpartition("_")[0],
            "goal": f"{request(entry, 0)}\n\nThe APIs: {', '.join(entry['involved_classes'])}.",
            "judge": {"python": f"{Path(__file__).resolve()}:judge"},
        }
        for entry in list(entries().values())[:: 800 // count]
    ]
    path.write_text(json.dumps({"tasks": tasks}, indent=1))


def write_turns(path: Path) -> None:
    """Write a task file in which each task is a single turn of a conversation."""
    conversations = [entry for id, entry in entries().items() if "_base_" in id]
    turns = ((entry, n) for entry in conversations for n, calls in enumerate(entry["ground_truth"]) if calls)
    tasks = [
        {
            "id": f"{entry['id']}/{number}",
            "split": ("train", "test")[conversations.index(entry) % 2],
            "type": "_".join([*(call.func.id for call in calls_of(entry, number)), str(len(params))]).lower(),
            "goal": request(entry, number),
            "params": params,
            "judge": {"python": f"{Path(__file__).resolve()}:judge"},
        }
        for entry, number in turns
        for params in [params_of(entry, number)]
    ]
    path.write_text(json.dumps({"tasks": tasks}, indent=1))


def calls_of(entry: dict, number: int) -> list[ast.Call]:
    """Return the calls that the ground truth makes in a turn."""
    return [ast.parse(call, mode="eval").body for call in entry["ground_truth"][number]]


def params_of(entry: dict, number: int) -> dict[str, object]:
    """Return a dict of the arguments of all calls in a turn, as value_1, value_2 and so on."""
    arguments = [[*call.args, *(keyword.value for keyword in call.keywords)] for call in calls_of(entry, number)]
    return {f"value_{n}": ast.literal_eval(value) for n, value in enumerate(chain(*arguments), 1)}


if __name__ == "__main__":
    path, *count = sys.argv[1:]
    write_turns(Path(path)) if count == ["turns"] else write_tasks(Path(path), *map(int, count))
