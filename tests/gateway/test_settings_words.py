"""The example, the page of the settings, and what may not be meant."""

from __future__ import annotations

import os
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from pydantic import BaseModel

from dpselect.gateway.settings.checks import warnings
from dpselect.gateway.settings.kinds import Amount
from dpselect.gateway.settings.reading import read_text
from dpselect.gateway.settings.server import Oidc, Person, Proxy, ServerSettings
from dpselect.gateway.settings.tokens import digest, example, fresh_token
from dpselect.gateway.settings.values import Bounds, DataSettings, Sizes, WeightColumn
from tests.conftest import ROOT
from tests.gateway.test_settings_reading import BASE
from tests.gateway.wrong_settings import FEWEST

sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from made_settings import settings as table_of

PAGE = (ROOT / "docs" / "gateway-settings.md").read_text("utf-8")
MODELS = [ServerSettings, Proxy, Oidc, DataSettings, Amount, WeightColumn, Bounds, Sizes, Person]


# ---- the page and the example say what there is -------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
def test_the_page_has_every_key_with_its_default_and_its_meaning(kind: type[BaseModel]) -> None:
    assert f"<!-- made: settings {kind.__name__} -->" in PAGE
    rows = [line.split(" | ") for line in table_of("gateway-settings", kind.__name__).splitlines()[2:]]
    assert [row[0].strip("| `") for row in rows] == [name for name in kind.model_fields if name != "name"]
    assert all(len(row) == 3 and row[2].rstrip("|").endswith(". ") for row in rows)


def test_a_default_is_shown_as_the_file_has_it() -> None:
    shown = {row.split(" | ")[0]: row.split(" | ")[1] for row in table_of("", "DataSettings").splitlines()}
    assert [shown[f"| `{key}`"] for key in ("source", "title", "tick", "approve", "sizes", "time")] == [
        "required", '`""`', "`1`", "`false`", "below", "none",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [ServerSettings, DataSettings, Person])
def test_every_key_is_in_the_example(kind: type[BaseModel]) -> None:
    for name in kind.model_fields.keys() - {"name"}:
        assert re.search(rf"^(# )?{name} = |^\[data\.listening\.{name}\]", example(), re.MULTILINE), name


def test_the_example_has_no_mistakes_with_or_without_what_is_behind_a_sign() -> None:
    settings = read_text(example(), BASE)
    assert [one.role.value for one in settings.people.values()] == ["owner", "analyst", "auditor"]
    without_defaults = re.sub(r"^# (table|snapshot|split|outside) = .*\n", "", example(), flags=re.MULTILINE)
    whole = read_text(re.sub(r"^# (\w+ = )", r"\1", without_defaults, flags=re.MULTILINE), BASE)
    assert whole.data["listening"].period == "month"
    for kind, behind, bare in (
        (ServerSettings, whole.server, settings.server),
        (DataSettings, whole.data["listening"], settings.data["listening"]),
    ):
        for name, one in kind.model_fields.items():
            if isinstance(one.default, (bool, int, Fraction)):
                assert getattr(behind, name) == getattr(bare, name) or name == "keep", name


def test_no_repr_of_settings_holds_a_secret() -> None:
    """A tool that shows the variables of a traceback would show it."""
    secret = "postgresql://u:canary@db/x"
    text = ALL_WELL.replace('"ledger.sqlite"', f'"{secret}"\njobs = "{secret}"')
    settings = read_text(text, BASE)
    person = next(one for one in settings.people.values() if one.token is not None)
    assert settings.server.ledger == settings.server.jobs == secret
    assert "canary" not in repr(settings)
    assert str(person.token) not in repr(settings)


# ---- what may not be meant ----------------------------------------------------------------------------------

OWNER = '[people.olga]\nrole = "owner"\ntoken = "sha256:' + "c" * 64 + '"\n'
ALL_WELL = FEWEST + OWNER
DATABASE = ('"plays.parquet"', '"postgresql://reader:canary@db/rows"\ntable = "t"')
MIND: dict[str, tuple[str, str, str]] = {
    "a database": (*DATABASE, "every question to plays is charged again"),
    "no owner": (OWNER, "", "nobody is an owner"),
    "no token": (f'token = "sha256:{"a" * 64}"', "", "ann cannot sign in: they have no token"),
    "a subject of nobody": (f'token = "sha256:{"a" * 64}"', 'subject = "x"', "no proxy or oidc"),
    "the example's token": ("a" * 64, "0" * 63 + "2", "ann cannot sign in: their token is the example's"),
    "a quota of an owner": ('"owner"', '"owner"\nquota = { epsilon = 1, delta = 0 }', "the quota of olga is useless"),
    "all may reach it": ("folder", 'host = "0.0.0.0"\nfolder', "host = '0.0.0.0' can be reached"),
    "in the clear": ("folder", 'url = "http://ask.example.org"\nfolder', "url begins with http://"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "expected"), MIND.values(), ids=MIND.keys())
def test_what_may_not_be_meant_is_said(before: str, after: str, expected: str) -> None:
    assert ALL_WELL.count(before) == 1
    found = warnings(read_text(ALL_WELL.replace(before, after), BASE))
    assert len(found) == 1
    assert expected in found[0]
    assert "canary" not in found[0]


def test_an_owner_must_be_there_to_agree() -> None:
    text = ALL_WELL.replace('"1e-5" }\n', '"1e-5" }\napprove = true\n')
    assert warnings(read_text(text, BASE)) == []
    (found,) = warnings(read_text(text.replace('"owner"', '"auditor"') + "", BASE))[:1]
    assert found == "no question to plays can run: approve = true, and it has no owner among the people"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\n", "\n"),
        ('"plays.parquet"', '"postgresql://db/rows"\ntable = "t"\nsnapshot = "x"'),
        ("folder", 'host = "0.0.0.0"\nurl = "https://ask.example.org"\nfolder'),
        ("folder", 'url = "http://localhost:8080"\nfolder'),
        (f'token = "sha256:{"a" * 64}"', 'subject = "x"\n[server.proxy]\naddresses = ["::1"]'),
    ],
)
def test_what_is_well_is_not_spoken_of(before: str, after: str) -> None:
    assert warnings(read_text(ALL_WELL.replace(before, after, 1 if before != "\n" else -1), BASE)) == []


@pytest.mark.skipif(os.name != "posix", reason="rights are kept otherwise")
def test_rights_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text(ALL_WELL)
    with_password = read_text(ALL_WELL.replace('"ledger.sqlite"', '"postgresql://u:canary@db/ledger"'), BASE)
    in_query = read_text(ALL_WELL.replace('"ledger.sqlite"', '"postgresql://db/ledger?password=canary"'), BASE)
    plain = read_text(ALL_WELL.replace('"ledger.sqlite"', '"postgresql://u@db/ledger"'), BASE)
    for mode, settings, said_of_it in (
        (0o600, with_password, []),
        (0o644, plain, []),
        (0o644, with_password, ["holds a password"]),
        (0o640, in_query, ["holds a password"]),
        (0o644, read_text(ALL_WELL.replace('"ledger.sqlite"', '"postgresql://[u:canary"'), BASE), []),
        (0o664, plain, ["may be written by other users"]),
        (0o602, plain, ["may be written by other users"]),
    ):
        path.chmod(mode)
        found = warnings(settings, path)
        assert len(found) == len(said_of_it)
        assert all(part in one and "canary" not in one for part, one in zip(said_of_it, found, strict=True))


# ---- tokens -------------------------------------------------------------------------------------------------


def test_tokens() -> None:
    made = {fresh_token() for _ in range(20)}
    assert len(made) == 20
    assert all(re.fullmatch("[A-Za-z0-9_-]{43}", one) for one in made)
    assert digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
