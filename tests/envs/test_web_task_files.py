"""Task files in our format and in WebArena's."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from planbook.envs.errors import BadSelection
from planbook.envs.web.judging import EpisodeEnd, judge
from planbook.envs.web.tasks import (
    AnswerCheck,
    Check,
    PageCheck,
    UnachievableCheck,
    UrlCheck,
    WebTask,
    judgeable,
    load_tasks,
    with_site_addresses,
)

SITES = {"shopping": "http://shop.example:7770/", "reddit": "http://forum.example"}


def entry(evaluation: dict[str, JsonValue], **more: JsonValue) -> dict[str, JsonValue]:
    """Return a task in WebArena's format."""
    plain: dict[str, JsonValue] = {"sites": ["shopping"], "task_id": 1, "require_login": True, "storage_state": None}
    plain |= {"start_url": "__SHOPPING__", "geolocation": None, "intent": "Find the lamp", "require_reset": False}
    return plain | more | {"eval": evaluation}


def answer(**reference: JsonValue) -> dict[str, JsonValue]:
    return {"eval_types": ["string_match"], "reference_answers": reference, "reference_url": "", "program_html": []}


def page(locator: str, url: str = "last", **required: JsonValue) -> dict[str, JsonValue]:
    target: JsonValue = {"url": url, "locator": locator, "required_contents": required}
    return {"eval_types": ["program_html"], "reference_answers": None, "reference_url": "", "program_html": [target]}


def read(folder: Path, *entries: JsonValue, **options: Any) -> list[WebTask]:
    file = folder / "tasks.json"
    file.write_text(json.dumps(list(entries)), encoding="utf-8")
    return load_tasks(file, SITES, **options)


URL_MATCH: dict[str, JsonValue] = {"eval_types": ["url_match"], "reference_url": "__SHOPPING__/a?x=1 |OR| __REDDIT__/b"}
ADDRESSES = ("http://shop.example:7770/a?x=1", "http://forum.example/b")


@pytest.mark.parametrize(
    ("evaluation", "kind", "checks"),
    [
        (
            answer(exact_match="Lamp", must_include=["9.50", "6"]),
            "look_up",
            [AnswerCheck(how="exact", values=("Lamp",)), AnswerCheck(how="must_include", values=("9.50", "6"))],
        ),
        (answer(fuzzy_match="N/A"), "unachievable", [UnachievableCheck()]),
        (URL_MATCH | {"url_note": "GOLD in PRED"}, "navigate", [UrlCheck(how="within", any_of=ADDRESSES)]),
        (URL_MATCH | {"url_note": "EXACT"}, "navigate", [UrlCheck(how="equal", any_of=ADDRESSES)]),
    ],
)
def test_an_evaluation_of_webarena_becomes_checks(
    evaluation: dict[str, JsonValue], kind: str, checks: list[Check], tmp_path: Path
) -> None:
    (found,) = read(tmp_path, entry(evaluation))
    assert (found.id, found.start, found.goal) == ("webarena/1", "http://shop.example:7770", "Find the lamp")
    assert (found.kind, list(found.checks)) == (kind, checks)


def test_a_task_with_fuzzy_match_is_left_out(tmp_path: Path) -> None:
    both = [entry(answer(fuzzy_match=["by car 2 min"]), task_id=7), entry(answer(exact_match="x"), task_id=8)]
    found = read(tmp_path, *both)
    assert [each.id for each in judgeable(found)] == ["webarena/8"]
    with pytest.raises(BadSelection, match=r"webarena/7.*language model"):
        judgeable(found, ["webarena/7"])


def test_program_html_becomes_a_page_check(tmp_path: Path) -> None:
    js = 'document.querySelector("#qty").value'
    (found,) = read(tmp_path, entry(page(js, "__SHOPPING__/cart", must_include=["2 |OR| two"])))
    (check,) = found.checks
    assert isinstance(check, PageCheck)
    assert (check.url, check.must_include) == ("http://shop.example:7770/cart", ("2 |OR| two",))
    assert js in check.script
    assert found.kind == "edit"
    (whole,) = read(tmp_path, entry(page("", exact_match="x")))
    assert isinstance(whole.checks[0], PageCheck)
    assert whole.checks[0].url == "last"
    assert "outerHTML" in whole.checks[0].script


def test_several_evaluation_types_become_several_checks(tmp_path: Path) -> None:
    evaluation = answer(exact_match="x") | {
        "eval_types": ["string_match", "url_match", "program_html"],
        "reference_url": "__SHOPPING__/a",
        "program_html": page("", must_include=["y"])["program_html"],
    }
    (found,) = read(tmp_path, entry(evaluation))
    assert [check.kind for check in found.checks] == ["answer", "url", "page"]


@pytest.mark.parametrize(
    ("evaluation", "reason"),
    [
        (page("func:get_rating(__page__)", must_include=["5"]), "Python function"),
        (page("", "func:latest_order_url()", must_include=["5"]), "Python function"),
        (page("alert(1)", must_include=["5"]), "neither JavaScript on the document"),
        (page("", looks_like="x"), "looks_like"),
        ({"eval_types": ["page_image_query"]}, "page_image_query"),
        ({"eval_types": ["url_match"], "reference_url": ""}, "has nothing to check"),
        (answer(ua_match="x"), "ua_match"),
        (URL_MATCH | {"url_note": "SIMILAR"}, "SIMILAR"),
        (answer(fuzzy_match=["x"]) | {"eval_types": ["url_match", "string_match"], "reference_url": "u"}, "model"),
    ],
)
def test_a_task_that_cannot_be_judged_has_a_reason_and_no_checks(
    evaluation: dict[str, JsonValue], reason: str, tmp_path: Path
) -> None:
    (found,) = read(tmp_path, entry(evaluation))
    assert reason in found.unjudgeable
    assert found.checks == ()
    assert judgeable([found]) == []


def test_the_login_of_a_task_is_a_file_in_the_folder_of_logins(tmp_path: Path) -> None:
    logged_in = entry(answer(exact_match="x"), storage_state="./.auth/shopping_state.json")
    (found,) = read(tmp_path, logged_in)
    assert "-o logins=FOLDER" in found.unjudgeable
    (found,) = read(tmp_path, logged_in, logins=tmp_path)
    assert f"there is no {tmp_path / 'shopping_state.json'}" in found.unjudgeable
    (tmp_path / "shopping_state.json").write_text("{}")
    (found,) = read(tmp_path, logged_in, logins=tmp_path)
    assert (found.unjudgeable, found.login) == ("", tmp_path / "shopping_state.json")


def test_several_start_pages_become_tabs(tmp_path: Path) -> None:
    (found,) = read(tmp_path, entry(answer(exact_match="x"), start_url="__SHOPPING__ |AND| __REDDIT__/f"))
    assert (found.start, found.more_tabs) == ("http://shop.example:7770", ("http://forum.example/f",))


def test_a_site_without_an_address_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(BadSelection, match=r"'gitlab', which you have to run yourself.*-o sites="):
        read(tmp_path, entry(answer(exact_match="x"), start_url="__GITLAB__/x"))


OURS: dict[str, JsonValue] = {"id": "a", "type": "t", "kind": "look_up", "goal": "?", "start": "{shop}/a"}


def test_site_names_in_our_format_are_replaced_by_addresses(tmp_path: Path) -> None:
    checks: JsonValue = [{"kind": "url", "any_of": ["{shop}/b"]}, {"kind": "page", "url": "{shop}/c", "exact": ["{x}"]}]
    (found,) = read(tmp_path, OURS | {"checks": checks})
    placed = with_site_addresses(found, {"shop": "http://shop.example/"})
    assert placed.start == "http://shop.example/a"
    assert placed.checks == (
        UrlCheck(any_of=("http://shop.example/b",)),
        PageCheck(url="http://shop.example/c", exact=("{x}",)),
    )
    with pytest.raises(BadSelection, match=r"'a' needs the site 'shop'.*known: trac"):
        with_site_addresses(found, {"trac": "http://127.0.0.1"})


def test_a_relative_address_in_a_check_is_one_on_the_site_of_the_start(tmp_path: Path) -> None:
    checks: JsonValue = [{"kind": "url", "any_of": ["/b?x=1"]}, {"kind": "page", "url": "/c", "exact": ["done"]}]
    (found,) = read(tmp_path, OURS | {"start": "{shop}/a/z", "checks": checks})
    task = with_site_addresses(found, {"shop": "http://shop.example/"})
    texts = {"http://shop.example/c": "done"}
    end = EpisodeEnd(None, "http://shop.example/b?x=1", lambda url, script: texts.get(url, ""))
    assert judge(task, end).solved


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("{", "is not JSON"),
        ("[]", "at least one task"),
        ("[1]", "each of them an object"),
        (json.dumps([OURS | {"kind": "odd"}]), "task 1 is not a task: kind"),
        (json.dumps([OURS, OURS]), "the same id to several tasks: a$"),
        (json.dumps([OURS | {"checks": [{"kind": "page", "exact": "x"}]}]), "exact: Input should be a valid list"),
        (json.dumps([OURS | {"checks": [{"kind": "page"}]}]), "needs exact, must_include or must_exclude"),
        (json.dumps([OURS | {"checks": [{"kind": "server", "changes": {"a": "b"}}]}]), 'add "site": "trac"'),
        (json.dumps([OURS | {"start": "shop.example/a"}]), "start: 'shop.example/a' is not an address: begin with"),
        (json.dumps([OURS | {"more_tabs": ["http://"]}]), "more_tabs.0: 'http://' is not an address"),
        (json.dumps([OURS | {"checks": [{"kind": "url", "any_of": ["wiki"]}]}]), "checks.0.*'wiki' is not an address"),
        (json.dumps([OURS | {"checks": [{"kind": "page", "url": "b", "exact": ["x"]}]}]), "'b' is not an address"),
        (json.dumps([{"intent": "x", "eval": {}}]), "not in WebArena's format"),
    ],
)
def test_a_missing_or_invalid_task_file_is_refused(text: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(BadSelection, match=message):
        load_tasks(file)
