"""Tasks in WebArena's format are judged in a real browser on a Trac site."""

import json
from collections.abc import Iterator

import pytest
from pydantic import JsonValue

from planbook.envs.types import Action, Selection
from planbook.envs.web import Web
from planbook.envs.web.environment import WebOptions
from planbook.envs.web.sites import TracSite
from tests.browser import need_browser
from tests.trac import need_trac

pytestmark = pytest.mark.browser


def target(url: str, locator: str, **required: JsonValue) -> JsonValue:
    return {"url": url, "locator": locator, "required_contents": required}


def evaluation(*kinds: str, url: str = "", answers: JsonValue = None, pages: tuple[JsonValue, ...] = ()) -> JsonValue:
    parts: dict[str, JsonValue] = {"reference_url": url, "reference_answers": answers, "program_html": list(pages)}
    return parts | {"eval_types": list(kinds)}


TITLE = "document.querySelector('#trac-ticket-title').outerText"
NOWHERE = "document.querySelector('#none').outerText"
SUMMARY = "Receipt printer prints an empty page first"
EVALS: dict[str, JsonValue] = {
    "answer": evaluation("string_match", answers={"must_include": ["9"]}),
    "url": evaluation("url_match", url="__GITLAB__/ticket/84 |OR| __GITLAB__/ticket/39"),
    "here": evaluation("program_html", pages=(target("last", TITLE, exact_match=SUMMARY),)),
    "there": evaluation("program_html", pages=(target("__GITLAB__/wiki/Glossary", "", must_include=["Neap |OR| x"]),)),
    "absent": evaluation("program_html", pages=(target("last", NOWHERE, must_include=["x"]),)),
    "both": evaluation("string_match", "url_match", url="__GITLAB__/ticket/84", answers={"exact_match": "9"}),
}


@pytest.fixture(scope="module")
def site() -> Iterator[TracSite]:
    need_browser()
    need_trac()
    found = TracSite()
    yield found
    found.close()


@pytest.fixture(scope="module")
def environment(site: TracSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    file = tmp_path_factory.mktemp("tasks") / "test.json"
    common: dict[str, JsonValue] = {"intent": "Look at the ticket", "start_url": "__GITLAB__/wiki"}
    file.write_text(json.dumps([common | {"task_id": name, "eval": each} for name, each in EVALS.items()]))
    played = Web(WebOptions(tasks=file, sites={"gitlab": site.url}))
    yield played
    played.close()


def solved(environment: Web, name: str, path: str, answer: str) -> bool:
    """Play a task by going to a path and stopping there with an answer."""
    (task,) = Web.select(Selection(ids=(f"webarena/{name}",)), environment.options)
    environment.reset(task)
    environment.act(Action("goto", (path,)))
    environment.act(Action("stop", (answer,)))
    return environment.verdict().solved


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("answer", ("/ticket/84", "there are 9"), ("/ticket/84", "there are 19")),
        ("url", ("/ticket/39", ""), ("/wiki", "")),
        ("here", ("/ticket/84", ""), ("/ticket/85", "")),
        ("there", ("/wiki", ""), None),
        ("absent", None, ("/ticket/84", "")),
        ("both", ("/ticket/84", "9"), ("/ticket/85", "9")),
    ],
)
def test_each_kind_of_check_accepts_and_rejects(
    environment: Web, name: str, right: tuple[str, str] | None, wrong: tuple[str, str] | None
) -> None:
    assert right is None or solved(environment, name, *right)
    assert wrong is None or not solved(environment, name, *wrong)
