"""The pages of a real gateway, as a browser without script sees them; each is checked as HTML when it is opened."""

from __future__ import annotations

import html
import json
import re
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import html5lib
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from dpselect.gateway.gateway import Gateway
from dpselect.gateway.pages.asking import VERB_SENTENCES
from dpselect.gateway.settings.reading import read
from dpselect.gateway.settings.tokens import digest
from tests.gateway.as_browser import ORIGIN, SVG, Browser
from tests.gateway.served import TOKENS, running

HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}", "=1+1", "a\u202eb & 'c'")
PEOPLE = ("olga", "ann", "bob", "cleo")
SETTINGS = """
[server]
ledger = "ledger.sqlite"
folder = "state"
rate = 10000

[data.plays]
title = "Plays & <b>more</b>"
about = "Invented."
source = "plays.parquet"
user = "user"
items = ["artist", "country", ["country", "artist"]]
groups = ["country"]
promise = {{ epsilon = 1000, delta = "1e-3" }}
sizes = {{ users = 400, items = 20, items_per_user = 3 }}
max_k = 50

[data.plays.filters]
country = ["Germany", "Bra'zil", 7]
minutes = "any"
name = "any"

[data.plays.values]
minutes = {{ low = 0, high = 100, step = 1 }}

[data.plays.weights]
minutes = {{ at_most = 60 }}

[data.plays.domains]
country = ["Germany", "Bra'zil", "Japan"]

[data.visits]
source = "plays.parquet"
user = "user"
items = ["artist"]
max_items_per_user = 3
promise = {{ epsilon = 1000, delta = "1e-3" }}
time = "day"
period = "month"
since = "2026-10"
approve = true

[people.olga]
role = "owner"
token = "sha256:{olga}"

[people.ann]
role = "analyst"
quota = {{ epsilon = 500, delta = "1e-4" }}
token = "sha256:{ann}"

[people.bob]
role = "analyst"
data = ["plays"]
quota = {{ epsilon = 1, delta = "1e-7" }}
token = "sha256:{bob}"

[people.cleo]
role = "auditor"
token = "sha256:{cleo}"
"""


def write(folder: Path) -> None:
    """Rows in which every name is shared by so many users that none is ever missing."""
    users = range(600)
    rows = {
        "user": list(users),
        "artist": [HOSTILE[user % 6] if user % 6 < 5 else "Ritoha" for user in users],
        "country": [("Germany", "Bra'zil", "Japan")[user % 3] for user in users],
        "minutes": [user % 50 for user in users],
        "name": [f"n{user}" for user in users],
        "day": [f"2026-{10 + user % 2}-05" for user in users],
    }
    table = pa.table(rows)
    place = table.schema.get_field_index("day")
    pq.write_table(table.set_column(place, "day", table["day"].cast(pa.date32())), folder / "plays.parquet")
    digests = {name: digest(TOKENS[name]) for name in PEOPLE}
    (folder / "gateway.toml").write_text(SETTINGS.format(**digests))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("pages")
    write(folder)
    with running(read(folder / "gateway.toml"), folder) as served:
        served.http.gateway = served.gateway  # type: ignore[attr-defined] # for the few tests that look behind the pages
        yield served.http


def signed_in(client: TestClient, name: str) -> Browser:
    return Browser(client).sign_in(TOKENS[name])


@pytest.fixture
def ann(client: TestClient) -> Browser:
    return signed_in(client, "ann")


@pytest.fixture
def olga(client: TestClient) -> Browser:
    return signed_in(client, "olga")


def answered(browser: Browser, query: str) -> Browser:
    """Ask by the page of this address, and wait as a browser without script does."""
    browser.get(f"/ask?{query}").submit("asking")
    until = time.monotonic() + 60
    while browser.has("state") and time.monotonic() < until:
        assert 'http-equiv="refresh"' in browser.text, browser.said
        time.sleep(0.05)
        browser.get(browser.path)
    assert browser.path.startswith("/answers/"), browser.said
    return browser


# ---- signing in ---------------------------------------------------------------------------------------------


def test_who_is_not_signed_in_is_brought_back_afterwards(client: TestClient) -> None:
    browser = Browser(client).get("/budget")
    assert browser.path == "/sign-in?to=%2Fbudget"
    assert browser.submit("/sign-in", token=TOKENS["ann"]).path == "/budget"
    assert browser.submit("/sign-out").path == "/sign-in"
    assert browser.get("/budget").path == "/sign-in?to=%2Fbudget"


@pytest.mark.parametrize("to", ["//evil.example", "/\\evil.example", "https://evil.example", "/sign-out", "/a\nb"])
def test_nobody_is_sent_elsewhere(client: TestClient, to: str) -> None:
    browser = Browser(client)
    browser.get("/sign-in")
    found = client.post(
        "/sign-in", data={"token": TOKENS["ann"], "to": to}, headers={"Origin": ORIGIN}, follow_redirects=False
    )
    assert found.headers["location"] == "/ask"
    client.cookies.clear()


def test_a_link_works_once_and_not_by_being_looked_at(client: TestClient) -> None:
    gateway: Gateway = client.gateway  # type: ignore[attr-defined]
    people = gateway.people
    person = people.find_by_token(TOKENS["ann"])
    assert person is not None
    link = f"/sign-in?code={people.code(person)}"
    Browser(client).get(link)  # a program that looks at links
    assert Browser(client).get(link).submit("/sign-in").path == "/ask"
    assert "was used before" in Browser(client).get(link).submit("/sign-in").said


@pytest.mark.parametrize(
    ("name", "path"), [("ann", "/owner"), ("ann", "/record"), ("olga", "/ask"), ("cleo", "/owner")]
)
def test_a_page_for_somebody_else_says_so(client: TestClient, name: str, path: str) -> None:
    browser = signed_in(client, name).get(path)
    assert browser.status == 403
    assert "Only" in browser.said


def test_what_is_not_there_is_a_page(ann: Browser) -> None:
    for path in ("/nothing", "/answers/0", "/questions/0", "/static/secret.py", "/problems/none"):
        assert ann.get(path).status == 404, path
        assert "There is nothing at this address" in ann.said
    assert ann.get("/problems/budget").status == 200


# ---- asking -------------------------------------------------------------------------------------------------

QUESTIONS = [
    ("verb=top_k&k=3&share=5", "Top 3 artists by number of users", "3 of at most 3|3 items, best first", 3),
    ("k=3&counts=&share=5", "Top 3 artists by number of users", "3 items, best first", 3),
    ("verb=top_k&k=2&by=country&share=5", "Top 2 artists by number of users in every country", "3 groups", 6),
    ("k=2&by_weight=minutes&share=5", "Top 2 artists by minutes", "best first", 2),
    ("k=2&measures=mean(minutes, 0, 100)&share=5", "with mean(minutes, 0, 100)", "best first", 2),
    ("item=country+%2B+artist&k=2&share=5", "Top 2 pairs of country and artist", "best first", 2),
    ("verb=union&share=5", "All artists that enough users share", "6 items that enough users share", 6),
    ("verb=quantile&share=2", "Median of minutes", "[Mm]edian", 1),
    ("verb=quantile&q=1/10, 9/10&by=country&share=4", "in every country", "3 groups", 6),
    ("verb=users&share=2", "Number of users", r"\d+ users, with noise", 1),
    ("verb=users&price=within&within=10", "Number of users", r"\d+ users, with noise", 1),
    ("verb=histogram&item=country&share=2", "Number of users of each country", "all 3 items of the domain", 3),
    ("verb=choose&item=country&share=2", "The country with most users", "Chosen", 1),
    ("verb=top_k&k=2&price=within&within=10", "Top 2 artists", "best first", 2),
    ("verb=top_k&k=2&price=epsilon&epsilon=7", "Top 2 artists", "best first", 2),
]  # fmt: skip


@pytest.mark.parametrize(("query", "title", "came", "rows"), QUESTIONS)
def test_every_wish_is_planned_asked_and_answered(ann: Browser, query: str, title: str, came: str, rows: int) -> None:
    ann.get(f"/ask?{query}")
    assert "This question costs" in ann.said
    answered(ann, query)
    assert title in "".join(ann.one("title").itertext())
    assert re.search(came, ann.said), ann.said
    assert len(ann.rows("answer")) == rows
    assert "The promise" in ann.said


def test_a_second_click_is_no_second_question(ann: Browser) -> None:
    ann.get("/ask?verb=top_k&k=5&share=1&fresh=yes")
    form = next(one for one in ann.page.iter("form") if one.get("id") == "asking")
    once = ann.page
    ann.submit("asking")
    first = ann.path
    ann.page = once
    assert form in list(ann.page.iter("form"))
    again = ann.submit("asking").path
    numbers = [re.search(r"[0-9a-f]{32}$", path) for path in (first, again)]
    assert numbers[0] is not None
    assert numbers[1] is not None
    assert numbers[0][0] == numbers[1][0]


def test_a_mistake_is_told_beside_the_menus(ann: Browser) -> None:
    assert "within in its place" in ann.get("/ask?price=within").said
    assert "epsilon must" in ann.get("/ask?price=epsilon&epsilon=much").said
    assert "if measures is given" in ann.get("/ask?by=country&measures=mean(minutes, 0, 100)").said
    assert ann.has("question")
    assert not ann.has("ask")


@pytest.mark.parametrize("verb", list(VERB_SENTENCES))
def test_every_choice_is_priced_or_told(ann: Browser, verb: str) -> None:
    """By itself none of the sentence is refused, but that of items which nobody listed."""
    ann.get(f"/ask?data=plays&verb={verb}")
    assert ann.has("cost"), ann.said
    controls = [one for one in ann.one("question").iter() if one.tag in ("select", "input") and one.get("id")]
    sentence = next(one for one in ann.page.iter("fieldset") if one.get("class") == "sentence")
    typed = {"k": ["3"], "q": ["0.1, 0.9"], "share": ["3"]}
    for control in controls:
        name = str(control.get("id"))
        if name.startswith(("data", "price", "column", "comparison", "value")):
            continue
        first = [one.get("value") or "" for one in control.iter("option")]
        for choice in first or typed.get(name) or ["2", "a, 'b', 1.5", '\r\n"<']:
            ann.get(f"/ask?{urlencode({'data': 'plays', 'verb': verb, name: choice})}")
            assert ann.has("cost") is not ann.has("problem"), (name, choice)
            fits = ann.has("cost") or "domain must be given" in ann.said
            assert fits or control not in [*sentence.iter()], (name, choice, ann.said)
            assert not ann.has("cost") or ann.submit("question").has("cost"), (name, choice)  # as the form stands then


def test_what_is_typed_is_in_the_question(ann: Browser) -> None:
    asked = ann.get("/ask?data=plays&verb=users&by=country&groups=Japan,Germany&share=2&max_groups_per_user=1")
    sent = next(one.get("value") for one in asked.page.iter("input") if one.get("name") == "question")
    body = {"groups": ["Japan", "Germany"], "by": ["country"], "max_groups_per_user": 1, "share": "2%"}
    assert json.loads(str(sent)) == {"data": "plays", "verb": "users", **body}
    assert len(answered(ann, "verb=users&by=country&share=3").rows("answer")) == 3  # of the groups that are declared


def test_menus_offer_what_the_owner_declared_and_nothing_else(ann: Browser) -> None:
    ann.get("/ask?data=plays&verb=histogram")
    assert ann.choices("item")[0] == "country"  # whose items are listed
    ann.get("/ask?data=visits&verb=quantile&by=country&by_weight=minutes&item=user&during=1999-01")
    assert ann.choices("verb") == ["top_k", "union", "users", "histogram", "choose"]
    assert ann.choices("item") == ["artist"]
    assert ann.choices("during")[-1] == "2026-10"
    for name in ("by", "by_weight", "measures"):
        assert not ann.has(name)
    assert not ann.get("/ask?data=visits&verb=users&item=artist&by=country").has("item")
    assert ann.get("/ask?data=visits&verb=union&price=threshold&threshold=50").has("cost")


def test_what_rose_most_is_on_the_menu_where_there_is_a_period_before(ann: Browser) -> None:
    asked = "/ask?data=visits&k=2&share=2&compared_with=2026-10"
    assert not ann.get(f"{asked}&during=2026-10").has("compared_with")  # the first that is offered
    *_, second, first = ann.choices("during")
    assert ann.get(f"{asked}&during={second}").choices("compared_with") == ["", first]
    assert ann.has("cost")
    ann.submit("asking")
    assert "Top 2 artists by users gained from October 2026 to" in "".join(ann.one("title").itertext())
    assert not ann.get("/ask?data=plays&compared_with=2026-10").has("compared_with")  # there are no periods
    assert ann.has("cost")


def test_filters_from_menus(ann: Browser) -> None:
    ann.get("/ask?column=country&column=minutes")
    assert ann.choices("value-1") == ["", "Germany", "Bra'zil", "7"]
    ann.submit("question", value="Bra'zil")
    assert "country = 'Bra''zil'" in ann.said
    query = "column=country&comparison=is&value=Bra%27zil&column=minutes&comparison=at-least&value=3&share=3&k=1"
    answered(ann, query)
    assert "where country = 'Bra''zil' AND minutes >= 3" in ann.said


def test_python_and_curl_are_the_same_question(ann: Browser) -> None:
    ann.get("/ask?verb=quantile&q=1/4,1/2,3/4&column=country&comparison=is&value=Bra%27zil&share=3")
    sent = next(one.get("value") for one in ann.page.iter("input") if one.get("name") == "question")
    code = ["".join(one.itertext()) for one in ann.page.iter("code")]
    words = shlex.split(next(one for one in code if one.startswith("curl")).replace("\\\n", " "))
    assert json.loads(words[words.index("--data") + 1]) == json.loads(str(sent))
    compile(next(one for one in code if "remote = connect(" in one), "page", "exec")


# ---- answers ------------------------------------------------------------------------------------------------


def test_labels_are_text_and_nothing_else(ann: Browser) -> None:
    answered(ann, "verb=top_k&k=6&share=10")
    labels = {row[1] for row in ann.rows("answer")}
    shown = {label.replace("\u202e", "\\u202e") for label in HOSTILE}
    assert labels == shown | {"Ritoha"}  # each has 100 users, at an epsilon of dozens
    (drawn,) = ann.pictures()
    names = {"".join(one.itertext()) for one in drawn.iter(f"{SVG}text")}
    assert {name for name in names if not re.fullmatch(r"[\d,]+|users", name)} == labels
    assert html.escape(HOSTILE[0]) in ann.text
    assert HOSTILE[0] not in ann.text
    assert not list(ann.page.iter("img"))


def test_a_shared_address_is_for_all_who_may_use_the_data(ann: Browser, client: TestClient) -> None:
    answered(ann, "verb=top_k&k=7&share=3")
    address = ann.one("address").get("value") or ""
    assert address.startswith(f"{ORIGIN}/answers/")
    path = address.removeprefix(ORIGIN)
    for name in ("bob", "olga", "cleo"):
        assert signed_in(client, name).get(path).rows("answer") == ann.get(path).rows("answer")
    assert signed_in(client, "bob").get("/history").has("answers")
    for link in [one.get("href") for one in ann.page.iter("a") if one.get("download") is not None]:
        found = client.get(str(link), headers={"Authorization": f"Bearer {TOKENS['ann']}"})
        assert (found.status_code, len(found.content) > 100) == (200, True), link
        if str(link).endswith(".html"):
            html5lib.HTMLParser(strict=True).parse(found.text)


def test_answers_of_other_data_are_not_there(client: TestClient, ann: Browser, olga: Browser) -> None:
    ann.get("/ask?data=visits&k=2&during=2026-10&share=2").submit("asking")
    assert "waits for approval" in ann.said
    number = ann.path.rpartition("/")[2]
    assert "ann asks this of visits" in olga.get("/owner").said
    olga.submit(f"/owner/questions/{number}", decision="approve")
    assert f"/owner/questions/{number}" not in olga.text
    until = time.monotonic() + 60
    while not ann.get(f"/questions/{number}").path.startswith("/answers/") and time.monotonic() < until:
        time.sleep(0.05)
    path = ann.path.partition("?")[0]
    assert ann.get(path).status == 200
    assert signed_in(client, "bob").get(path).status == 404
    assert signed_in(client, "bob").get(f"/questions/{number}").status == 404


def test_a_question_can_be_rejected_or_cancelled(ann: Browser, olga: Browser) -> None:
    for k, decided in ((3, "rejected"), (4, "cancelled")):
        ann.get(f"/ask?data=visits&k={k}&during=2026-11&share=2").submit("asking")
        number = ann.path.rpartition("/")[2]
        if decided == "rejected":
            olga.get("/owner").submit(f"/owner/questions/{number}", decision="reject")
            assert "not approved" in ann.get(f"/questions/{number}").said
        else:
            assert "cancelled" in ann.submit(f"/questions/{number}/cancel").said
        assert "nothing was charged" in ann.said
        assert 'http-equiv="refresh"' not in ann.text


# ---- budgets, owner, auditor --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PEOPLE)
def test_every_page_in_the_menu_is_sound(client: TestClient, name: str) -> None:
    browser = signed_in(client, name)
    pages = [one.get("href") or "" for one in browser.page.find(".//nav").iter("a")]  # type: ignore[union-attr]
    assert pages
    for path in pages:
        assert browser.get(path).status == 200
        assert [one.get("href") for one in browser.page.iter("a") if one.get("aria-current") == "page"] == [path]


def test_style_and_script_are_small_and_found_by_their_content(client: TestClient, ann: Browser) -> None:
    for name in ("style.css", "script.js", "icon.svg"):
        address = re.search(rf"/static/{re.escape(name)}\?[0-9a-f]{{12}}", ann.text)
        assert address is not None
        found = client.get(address[0])
        assert (found.status_code, "max-age" in found.headers["cache-control"]) == (200, True)
        assert len(found.content) < (5_000 if name == "script.js" else 20_000)
