"""A browser without script: opens pages, fills in their forms, and refuses pages that are no good HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit
from xml.etree.ElementTree import Element

import html5lib
import httpx2

from dpselect.release.notebook import STYLE

ORIGIN = "http://127.0.0.1:8080"
SVG = "{http://www.w3.org/2000/svg}"
ADDRESSES = ("href", "src", "action", "formaction")


class Browser:
    """One person's. `page` is the tree of the last page, `status` its status, `path` where it is."""

    def __init__(self, client: httpx2.Client, origin: str = ORIGIN) -> None:
        self._client, self._origin, self._cookies = client, origin, dict[str, str]()
        self.page, self.text, self.status, self.path = Element("html"), "", 0, "/"

    def get(self, path: str) -> Browser:
        """Open an address, and go where it leads."""
        return self._sent("GET", path)

    def sign_in(self, token: str, to: str = "") -> Browser:
        """By the form."""
        self.get(to or "/sign-in")
        return self.submit("/sign-in", token=token)

    def submit(self, which: str, **given: str) -> Browser:
        """Fill in the form of this id, or that goes to this address, and press its button."""
        form = next((one for one in self.page.iter("form") if which in (one.get("id"), one.get("action"))), None)
        assert form is not None, f"there is no form {which} at {self.path}: {self.said}"
        action = form.get("action") or ""
        fields = [*_fields(form)]
        unknown = set(given) - {name for name, _ in fields} - {one.get("name") for one in form.iter("button")}
        assert not unknown, f"the form has no {unknown}"
        sent = [(name, given.pop(name, value)) for name, value in fields] + [*given.items()]
        if form.get("method") == "get":
            return self._sent("GET", f"{action}?{urlencode(sent)}")
        return self._sent("POST", action, urlencode(sent))

    def _sent(self, method: str, path: str, body: str | None = None) -> Browser:
        headers = {"Accept": "text/html", "Cookie": "; ".join(f"{n}={v}" for n, v in self._cookies.items())}
        if body is not None:
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Origin": self._origin}
        found: Any = self._client.request(method, path, headers=headers, content=body, follow_redirects=False)
        for line in found.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self._cookies[name] = value.strip('"')
        self._client.cookies.clear()
        if found.status_code in (302, 303):
            return self._sent("GET", found.headers["location"])
        self.status, self.path, self.text = found.status_code, path, found.text
        self.page = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(found.text)
        check(self.page)
        return self

    # ---- what a page says -----------------------------------------------------------------------------------

    @property
    def said(self) -> str:
        """Its text, in one line."""
        main = self.page.find(".//main")
        assert main is not None
        return re.sub(r"\s+", " ", "".join(main.itertext())).replace("\N{NO-BREAK SPACE}", " ").strip()

    def one(self, number: str) -> Element:
        """The element of this id."""
        found = [one for one in self.page.iter() if one.get("id") == number]
        assert len(found) == 1, f"{len(found)} elements have the id {number}"
        return found[0]

    def has(self, number: str) -> bool:
        """Is there an element of this id?"""
        return any(one.get("id") == number for one in self.page.iter())

    def choices(self, number: str) -> list[str]:
        """The values of a menu."""
        return [one.get("value") or "" for one in self.one(number).iter("option")]

    def pictures(self) -> list[Element]:
        """All pictures that are drawn in the page, but for the bars of tables."""
        return [one for one in self.page.iter(f"{SVG}svg") if [*one.iter(f"{SVG}text")]]

    def rows(self, number: str) -> list[list[str]]:
        """The cells of a table's body."""
        bodies = [*self.one(number).iter("tbody")]
        assert bodies
        return [["".join(cell.itertext()) for cell in row] for body in bodies for row in body.iter("tr")]


def _fields(form: Element) -> Iterator[tuple[str, str]]:
    """What a form sends as it stands."""
    for one in form.iter():
        name = one.get("name")
        if name is None:
            continue
        if one.tag == "select":
            options = [*one.iter("option")]
            chosen = next((option for option in options if option.get("selected") is not None), options[0])
            yield name, chosen.get("value") or ""
        elif one.tag == "input" and (one.get("type") not in ("radio", "checkbox") or one.get("checked") is not None):
            yield name, one.get("value") or ""


def check(page: Element) -> None:
    """What the policy of the pages would block, and what a screen reader would miss."""
    numbers = [one.get("id") for one in page.iter() if one.get("id")]
    assert len(numbers) == len(set(numbers)), "an id comes twice"
    labels = {one.get("for") for one in page.iter("label")}
    for one in page.iter():
        attributes: Mapping[str, str] = one.attrib
        assert "style" not in attributes, f"a style at {one.tag}"
        assert not any(name.startswith("on") for name in attributes), f"a script at {one.tag}"
        assert one.tag != "style" or one.text == STYLE, "a style that the policy does not name"
        for name in ADDRESSES:
            address = attributes.get(name)
            assert address is None or _is_here(address), f"{one.tag} leads to {address}"
        for name in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(name, "").split()) <= set(numbers), f"{one.tag} is named by nothing"
        if one.tag in ("input", "select") and attributes.get("type") not in ("hidden", "radio", "checkbox"):
            assert attributes.get("aria-label") or attributes.get("id") in labels, f"{attributes} has no label"
    scripts = list(page.iter("script"))
    assert [(one.text, urlsplit(one.get("src") or "").path) for one in scripts] == [(None, "/static/script.js")]
    assert len([*page.iter("h1")]) == len([*page.iter("main")]) == 1


def _is_here(address: str) -> bool:
    return address.startswith(("/", "#")) and urljoin(f"{ORIGIN}/", address).startswith(f"{ORIGIN}/")
