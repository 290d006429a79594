"""What people do with a gateway, one after the other; each step ends on a page that was looked at."""

from __future__ import annotations

import re

from tests.slow.chromium.site import Site
from tests.slow.chromium.window import Window

ANSWER = re.compile(r"/answers/\w+")


def sign_in(window: Window, site: Site, who: str) -> None:
    """By the link that works once, where nobody used it yet."""
    page = window.page
    page.goto(site.links[who])
    window.look()
    page.click("#sign-in")
    assert page.inner_text("#who").startswith(who)


def sign_in_by_token(window: Window, site: Site, who: str) -> None:
    """With a token; a wrong one first."""
    page = window.page
    page.goto("/sign-in")
    with window.refused(401):
        page.fill("#token", "no token")
        page.click("#sign-in")
        window.look()
    page.fill("#token", site.tokens[who])
    page.click("#sign-in")
    assert page.inner_text("#who").startswith(who)


def set_menus(window: Window, menus: dict[str, str]) -> None:
    """Say something in the menus; with script the page follows, without it there is a button."""
    for which, value in menus.items():
        if window.page.get_attribute(which, "type") in ("number", "range", "text", None) and "select" not in which:
            window.page.fill(which, value)
            window.page.dispatch_event(which, "change")
        else:
            window.page.select_option(which, value)
        if not window.script:
            window.page.click("#update")


def expected(window: Window, said: str) -> None:
    """The forecast speaks of this."""
    window.page.locator("#expect", has_text=said).wait_for()


def plan(window: Window, data: str) -> None:
    """A question from the menus, and the forecast that follows each of them."""
    page = window.page
    page.goto(f"/ask?data={data}")
    expected(window, "Top 10 artists")
    set_menus(window, {"#k": "5"})
    expected(window, "Top 5 artists")
    set_menus(window, {"select#column-1": "country"})
    page.locator("#value-1").wait_for()
    set_menus(window, {"select#value-1": "Germany"})
    expected(window, "where country = 'Germany'")
    set_menus(window, {"#share": "10"})
    expected(window, "Ask, for 9.99 % of the budget")  # an epsilon of three digits costs at most the share
    window.look()


def ask(window: Window) -> str:
    """Ask what the page says; the number of its answer."""
    window.page.click("#ask")
    window.page.wait_for_url(ANSWER)
    return ANSWER.search(window.page.url).group()


def again(window: Window, answer: str, question: str) -> None:
    """The same question costs nothing."""
    page = window.page
    page.goto(question)
    assert "free of charge" in page.inner_text("#ask")
    assert ask(window) == answer
    assert "cost nothing" in page.inner_text("main")
    window.look()
    for address in ("/history", "/budget"):
        page.goto(address)
        window.look()


def exhaust(window: Window, data: str) -> str:
    """Two questions that do not both fit: the second is refused, also where its button was there before."""
    page, late = window.page, window.tab()
    for k, where in ((3, page), (4, late)):
        where.goto(f"/ask?data={data}&k={k}&share=60")
    ask(window)
    with window.refused(409):
        late.click("#ask")
        late.locator(".problem").wait_for()
        window.look(late)
    late.close()
    page.goto(f"/ask?data={data}&k=4&share=60")
    assert "more than is left" in page.inner_text("#problem")
    assert not page.query_selector("#ask")
    window.look()
    return str(page.url)


def grant(owner: Window, data: str) -> None:
    """More for the analyst."""
    page = owner.page
    page.goto("/owner")
    owner.look()
    page.select_option("#grant-data", data)
    page.select_option("#grant-analyst", "analyst")
    page.fill("#grant-epsilon", "1000")
    page.fill("#grant-delta", "1e-4")
    page.click("#grant")
    page.wait_for_url("**/owner#people")
    assert re.search(rf"analyst\s+{data}\s+epsilon 1,?500", page.inner_text("#people"))


def approve(analyst: Window, owner: Window, data: str) -> None:
    """A question waits until the owner says yes; the page of who asked then moves on by itself."""
    asking, deciding = analyst.page, owner.page
    asking.goto(f"/ask?data={data}&k=3")
    assert "must approve a new question before it runs" in asking.inner_text("#expect")
    asking.click("#ask")
    asking.locator("#state", has_text="waits for approval").wait_for()
    analyst.look()
    deciding.goto("/owner")
    owner.look()
    deciding.click(f"article:has-text('of {data}') button[value=approve]")
    deciding.wait_for_url("**/owner#waiting")
    asking.wait_for_url(ANSWER)


def verify(auditor: Window, data: str) -> None:
    """The record is whole, and its head is in it the next time."""
    page = auditor.page
    page.goto("/record")
    auditor.look()
    page.click("#verify")
    assert "The record is clean" in page.inner_text("#verified")
    head = page.inner_text("#verified code")
    page.fill("#head", head)
    page.click("#verify")
    assert "the head that you noted is in it" in page.inner_text("#verified")
    auditor.look()
    page.goto(f"/record/{data}")
    assert "clean" in page.inner_text(".good")
    auditor.look()


def sign_out(window: Window) -> None:
    """Nothing is there for whoever sits down next."""
    page = window.page
    page.click("text=Sign out")
    page.wait_for_url("**/sign-in")
    page.goto("/history")
    assert "/sign-in?to=" in page.url
