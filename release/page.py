"""The README as the page of the package on an index: no link of it may lead nowhere.

An index shows the README away from its repository, so a relative link is dead there. It becomes an address within
`Source` of `[project.urls]`, at the tag of the version; without one, plain text, and a picture is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
PICTURE = re.compile(r"<picture>.*?</picture>", re.DOTALL)
ATTRIBUTE = re.compile(r"""(?P<name>src|srcset)="(?P<target>[^"]*)\"""")
FENCE = re.compile(r"^(?:```.*?^```$)", re.MULTILINE | re.DOTALL)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


def index_page(readme: str, urls: Mapping[str, str], version: str) -> str:
    """The README with its relative links made absolute, or made text."""
    source = urls.get("Source", "").rstrip("/")

    def mended(link: re.Match[str]) -> str:
        target = link["target"]
        if SCHEME.match(target):
            return link[0]
        if not source:
            return "" if link["picture"] else link["text"]
        kind = "raw" if link["picture"] else "tree" if target.endswith("/") else "blob"
        return f"{link['picture']}[{link['text']}]({source}/{kind}/v{version}/{target})"

    def drawn(picture: re.Match[str]) -> str:
        return ATTRIBUTE.sub(rf'\g<name>="{source}/raw/v{version}/\g<target>"', picture[0]) if source else ""

    return "".join(part if code else _outside(PICTURE.sub(drawn, part), mended) for part, code in _parts(readme))


def _outside(text: str, mended: Callable[[re.Match[str]], str]) -> str:
    """Mend the links of text that holds no fence; of a picture that is left out no gap stays."""
    return re.sub(r"\n{3,}", "\n\n", LINK.sub(mended, text))


def _parts(readme: str) -> list[tuple[str, bool]]:
    """The page in pieces, each with whether it is a fence of code."""
    parts, at = [], 0
    for fence in FENCE.finditer(readme):
        parts += [(readme[at : fence.start()], False), (fence[0], True)]
        at = fence.end()
    return [*parts, (readme[at:], False)]


def dead_links(html: str) -> list[str]:
    """The targets in rendered HTML that lead nowhere on an index."""
    targets = re.findall(r"""(?:href|src|srcset)=["']([^"']*)["']""", html)
    return [target for target in targets if not SCHEME.match(target)]
