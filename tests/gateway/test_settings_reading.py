"""Settings as their owner writes them: what is read, and that every mistake is named with its place."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.gateway.settings.kinds import Amount, Role
from dpselect.gateway.settings.reading import MAX_FILE_BYTES, Mistake, SettingsError, read, read_text
from dpselect.gateway.settings.server import Oidc, Person, Proxy, ServerSettings
from dpselect.gateway.settings.tokens import example
from dpselect.gateway.settings.values import Bounds, DataSettings, Settings, Sizes, WeightColumn
from tests.gateway.wrong_settings import DIGEST, FEWEST, OF_DATA, OF_PERSON, OF_SERVER, REPLACED

BASE = Path("/there") if Path("/there").is_absolute() else Path.cwd()


def mistakes(text: str) -> list[tuple[str, str | None]]:
    """What is wrong with a text: sentences and hints."""
    with pytest.raises(SettingsError) as caught:
        read_text(text, BASE)
    return [(one.text, one.hint) for one in caught.value.mistakes]


# ---- what is read -------------------------------------------------------------------------------------------


def test_the_fewest() -> None:
    data = DataSettings(
        name="plays",
        source=str(BASE / "plays.parquet"),
        user="user",
        items=("artist",),
        promise=Amount(epsilon=Fraction(3), delta=Fraction(1, 10**5)),
    )
    found = read_text(FEWEST, BASE)
    assert found == Settings(
        server=ServerSettings(ledger=str(BASE / "ledger.sqlite"), folder=BASE / "state"),
        data={"plays": data},
        people={"ann": Person(name="ann", role=Role.ANALYST, token=f"sha256:{DIGEST}")},
    )
    assert type(found.people["ann"].role) is Role


WHOLE = f"""
[server]
ledger = "postgresql://gate:pa%20ss@db.example.org/ledger"
folder = "../state"
jobs = "postgres://gate@db/jobs"
host = "::1"
port = 0
url = "https://ask.example.org:8443/"
workers = 3
waiting = 7
waiting_each = 7
rate = 1
body = 1024
proxy = {{ addresses = ["10.0.0.0/8", "fd00::1"], header = "X-User" }}
[server.oidc]
issuer = "https://login.example.org/"
audience = "gate"
jwks = "keys/jwks.json"
claim = "email"

[data."Listening events"]
title = "Plays"
about = '''

Every play.
Two lines.
'''
source = ["a.csv", "sub/b.csv"]
user = ["user", "day"]
items = ["artist", ["country", "artist"], ["genre"]]
promise.epsilon = 0.30
promise.delta = 1e-6
unit = "one user on one day"
keep = "20%"
groups = ["country", "device"]
max_k = 50
max_items_per_user = 4
tick = 0.5
approve = true
time = "at"
period = "month"
timezone = "Europe/Berlin"
since = "2026-01"
[data."Listening events".filters]
country = ["Germany", 1, true, 2.50, 2027-12-31, 2027-12-31T10:00:00]
minutes = "any"
[data."Listening events".weights]
minutes = {{ at_most = 60.5, unit = "1/2" }}
[data."Listening events".values]
minutes = {{ low = -0.5, high = 600, step = 0.1 }}
[data."Listening events".domains]
country = ["Germany"]
[data."Listening events".types]
minutes = " number( decimal = ',' )"
at = "TIME(zone='Europe/Berlin')"
[data."Listening events".sizes]
users = 1_000
items = 7

[data.base]
source = "postgresql://reader:secret@db/rows"
table = "public.rows"
user = "u"
items = ["i"]
promise = {{ epsilon = 1, delta = 0 }}
snapshot = "of Monday"
split = " "

[people."Ann Mu\u0308ller"]
role = "owner"
data = ["base", "Listening events"]
quota = {{ epsilon = "1/3", delta = 0 }}
token = "sha256:{"AB" * 32}"
until = 2027-12-31
subject = "ann@example.org"
"""


def test_everything() -> None:
    found = read_text(WHOLE, BASE / "settings")
    here = BASE / "settings"
    assert found.server == ServerSettings(
        ledger="postgresql://gate:pa%20ss@db.example.org/ledger",
        folder=BASE / "state",
        jobs="postgres://gate@db/jobs",
        host="::1",
        port=0,
        url="https://ask.example.org:8443",
        workers=3,
        waiting=7,
        waiting_each=7,
        rate=1,
        body=1024,
        proxy=Proxy(addresses=("10.0.0.0/8", "fd00::1"), header="X-User"),
        oidc=Oidc(
            issuer="https://login.example.org/",
            audience="gate",
            jwks=here / "keys" / "jwks.json",
            claim="email",
        ),
    )
    assert found.data["Listening events"] == DataSettings(
        name="Listening events",
        source=(str(here / "a.csv"), str(here / "sub" / "b.csv")),
        user=("user", "day"),
        items=("artist", ("country", "artist"), "genre"),
        promise=Amount(epsilon=Fraction(3, 10), delta=Fraction(1, 10**6)),
        title="Plays",
        about="Every play.\nTwo lines.",
        unit="one user on one day",
        keep=Fraction(1, 5),
        groups=("country", "device"),
        filters={
            "country": (
                *("Germany", 1, True, Decimal("2.50")),
                *(datetime.date(2027, 12, 31), datetime.datetime(2027, 12, 31, 10)),
            ),
            "minutes": None,
        },
        weights={"minutes": WeightColumn(at_most=Fraction(121, 2), unit=Fraction(1, 2))},
        values={"minutes": Bounds(low=Fraction(-1, 2), high=Fraction(600), step=Fraction(1, 10))},
        domains={"country": ("Germany",)},
        types={"minutes": "NUMBER(decimal=',')", "at": "TIME(zone='Europe/Berlin')"},
        sizes=Sizes(users=1000, items=7, items_per_user=Fraction(7, 2)),
        time="at",
        period="month",
        timezone="Europe/Berlin",
        since="2026-01",
        max_k=50,
        max_items_per_user=4,
        tick=Fraction(1, 2),
        approve=True,
    )
    base = found.data["base"]
    assert (base.source, base.table) == ("postgresql://reader:secret@db/rows", "public.rows")
    assert (base.promise.delta, base.snapshot, base.split) == (0, "of Monday", " ")
    name = "Ann M\u00fcller"
    assert found.people == {
        name: Person(
            name=name,
            role=Role.OWNER,
            data=("base", "Listening events"),
            quota=Amount(epsilon=Fraction(1, 3), delta=Fraction(0)),
            token="sha256:" + "ab" * 32,
            until=datetime.date(2027, 12, 31),
            subject="ann@example.org",
        )
    }
    types = [type(value) for value in found.data["Listening events"].filters["country"] or ()]
    assert types == [str, int, bool, Decimal, datetime.date, datetime.datetime]


def test_few_waiting_questions_are_also_the_most_of_one_person() -> None:
    server = read_text(FEWEST.replace("[server]", "[server]\nwaiting = 5"), BASE).server
    assert (server.waiting, server.waiting_each) == (5, 5)


def test_a_file_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "gateway.toml"
    path.write_text("\ufeff" + FEWEST, "utf-8")
    monkeypatch.chdir(tmp_path.parent)
    assert read(path) == read(Path(tmp_path.name, path.name)) == read_text(FEWEST, tmp_path)


def test_prepared_data_need_no_user(tmp_path: Path) -> None:
    text = FEWEST.replace('user = "user"\n', "").replace("plays.parquet", "rows.prepared")
    (tmp_path / "rows.prepared").touch()
    assert read_text(text, tmp_path).data["plays"].user is None
    assert [said for said, _ in mistakes(text)] == ["[data.plays] user must be given"]


# ---- what is wrong ------------------------------------------------------------------------------------------

CASES = {
    **{name: ("[server]\n", f"[server]\n{new}\n", f"[server] {said}") for name, (new, said) in OF_SERVER.items()},
    **{name: ("promise", f"{new}\npromise", f"[data.plays] {said}") for name, (new, said) in OF_DATA.items()},
    **{name: ("role", f"{new}\nrole", f"[people{said}") for name, (new, said) in OF_PERSON.items()},
    **REPLACED,
}


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES.keys())
def test_each_mistake_is_one_and_has_its_place(before: str, after: str, expected: str) -> None:
    assert FEWEST.count(before) == 1
    found = mistakes(FEWEST.replace(before, after))
    assert len(found) == 1
    told = "\n".join(f"{said}|{hint}" for said, hint in found)
    for part in expected.split("|"):
        assert part in told
    assert "canary" not in told


def test_all_mistakes_are_told_at_once() -> None:
    text = FEWEST.replace("epsilon = 3", "epsilon = -1").replace('"analyst"', '"analist"\ndata = ["play"]')
    text = text.replace("folder", "foldr").replace('["artist"]', '["artist",\n "user"]')
    with pytest.raises(SettingsError) as caught:
        read_text(text, BASE, "here/gateway.toml")
    assert str(caught.value) == (
        "6 mistakes in here/gateway.toml\n"
        "here/gateway.toml: [server] folder must be given\n"
        "here/gateway.toml: [server] foldr is not known here\n  hint: did you mean folder or ledger?\n"
        "here/gateway.toml: [data.plays] items must not hold 'user', which says who a user is\n"
        "here/gateway.toml: [data.plays] promise.epsilon must be a positive, finite number, got -1\n"
        "here/gateway.toml: [people.ann] role must be one of owner, analyst, auditor, got 'analist'\n"
        "  hint: did you mean analyst?\n"
        "here/gateway.toml: [people.ann] data must name data sets, got 'play'\n  hint: did you mean plays?"
    )
    assert pickle.loads(pickle.dumps(caught.value)).mistakes == caught.value.mistakes


# ---- what is no TOML, or no file -----------------------------------------------------------------------------

NO_TOML = {
    "a syntax error": ("[server]\nledger = \n", "is no TOML: ", "line 2"),
    "a key twice": ("[server]\nport = 1\nport = 2\n", "is no TOML: ", "line 3"),
    "an open text": ('[server]\nurl = """canary\n\n', "is no TOML: ", "end of document"),
    "no such day": ("[server]\n\nuntil = 2027-02-30\n", "is no TOML: ", "line 3"),
    "too deep": ("x = " + "[" * 100_000, "is nested too deeply", ""),
    "too many digits": ("x = " + "1" * 10_000, "holds a value that no setting can have", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "said", "where"), NO_TOML.values(), ids=NO_TOML.keys())
def test_what_is_no_toml(text: str, said: str, where: str) -> None:
    ((found, _),) = mistakes(text)
    assert found.startswith(said)
    assert where in found
    assert "canary" not in found


def test_what_is_no_file(tmp_path: Path) -> None:
    binary, long = tmp_path / "binary.toml", tmp_path / "long.toml"
    binary.write_bytes(b"[server]\n\nledger = '\xff'\n")
    long.write_bytes(b"#" * (MAX_FILE_BYTES + 1))
    for path, said in (
        (tmp_path / "none.toml", "none.toml: cannot be read: "),
        (tmp_path, ": cannot be read: "),
        ("a\0b", ": cannot be read: "),
        (binary, "binary.toml: must be text in UTF-8 (at line 3)"),
        (long, "long.toml: must have at most "),
    ):
        with pytest.raises(SettingsError) as caught:
            read(path)
        assert said in str(caught.value)


# ---- whatever is written, settings come of it or one error ---------------------------------------------------


def settings_or_mistakes(text: str) -> Settings | tuple[Mistake, ...]:
    """What comes of a text; any other error is one."""
    try:
        return read_text(text, BASE)
    except SettingsError as error:
        return error.mistakes


ODD = """
    1 -1 0 true nan inf 1e400 "" "any" "\\u0000" [] [1,'a'] [[]] {} {a=1} 2027-12-31 2027-12-31T10:00:00Z 10:00:00
    "postgresql://h/d" "spark:x" "a://b" ["user"] "user" "/" "." "~" [{}] 9223372036854775808 "\\U0001F600"
    '1/3' "2026-01"
""".split()
HOW = st.sampled_from(["drop", "odd", "uncomment", "twice"])


@given(st.lists(st.tuples(st.integers(0, 200), HOW, st.sampled_from(ODD)), min_size=1, max_size=6))
@settings(max_examples=100)
def test_the_example_changed_at_random(changes: list[tuple[int, str, str]]) -> None:
    written = example().splitlines()
    for place, what, odd in changes:
        at = place % len(written)
        line = written[at]
        name = line.lstrip("# ").partition("=")[0].rstrip()
        written[at] = {
            "drop": "",
            "odd": f"{name} = {odd}" if "=" in line else line,
            "uncomment": line.lstrip("# ") if "=" in line else line,
            "twice": f"{line}\n{line}",
        }[what]
    assert settings_or_mistakes("\n".join(written))


@given(st.text(alphabet="[]{}=.,\"'#\n\\ ab1é", max_size=60), st.integers(0, len(FEWEST)))
@settings(max_examples=100)
def test_characters_put_in_at_random(characters: str, at: int) -> None:
    assert settings_or_mistakes(FEWEST[:at] + characters + FEWEST[at:])
