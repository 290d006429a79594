"""Settings as their owner writes them: what is read, and that every mistake is named with its line."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpselect.gateway.settings.example import example
from dpselect.gateway.settings.mistakes import HIDDEN, SettingsError
from dpselect.gateway.settings.reading import MOST, read, read_text
from dpselect.gateway.settings.values import (
    Amount,
    Bounds,
    DataSettings,
    Oidc,
    Person,
    Proxy,
    Role,
    ServerSettings,
    Settings,
    Sizes,
    Weight,
)
from tests.house.pace import examples

BASE = Path("/there") if Path("/there").is_absolute() else Path.cwd()
DIGESTS = ["a" * 64, "b" * 64]
FEWEST = f"""\
[server]
ledger = "ledger.sqlite"
folder = "state"

[data.plays]
source = "plays.parquet"
user = "user"
items = ["artist"]
promise = {{ epsilon = 3, delta = "1e-5" }}

[people.ann]
role = "analyst"
token = "sha256:{DIGESTS[0]}"
"""


def mistakes(text: str) -> list[tuple[int | None, str, str | None]]:
    """What is wrong with a text: lines, sentences and hints."""
    with pytest.raises(SettingsError) as caught:
        read_text(text, BASE)
    return [(one.line, one.text, one.hint) for one in caught.value.mistakes]


# ---- what is read -------------------------------------------------------------------------------------------


def test_the_fewest() -> None:
    data = DataSettings(
        name="plays",
        source=str(BASE / "plays.parquet"),
        user="user",
        items=("artist",),
        promise=Amount(Fraction(3), Fraction(1, 10**5)),
    )
    found = read_text(FEWEST, BASE)
    assert found == Settings(
        server=ServerSettings(ledger=str(BASE / "ledger.sqlite"), folder=BASE / "state"),
        data={"plays": data},
        people={"ann": Person(name="ann", role=Role.ANALYST, token=DIGESTS[0])},
    )
    assert type(found.people["ann"].role) is Role


WHOLE = f"""
[server]
ledger = "postgresql://gate:pa%20ss@db.example.org/ledger"
folder = "../state"
jobs = "postgres://gate@db/jobs"
host = "::1"
port = 0
url = "https://ask.example.org:8443/dp/"
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
prepare = true
refresh = 5
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
        url="https://ask.example.org:8443/dp",
        workers=3,
        waiting=7,
        waiting_each=7,
        rate=1,
        body=1024,
        proxy=Proxy(("10.0.0.0/8", "fd00::1"), "X-User"),
        oidc=Oidc("https://login.example.org/".rstrip("/"), "gate", here / "keys" / "jwks.json", "email"),
    )
    assert found.data["Listening events"] == DataSettings(
        name="Listening events",
        source=(str(here / "a.csv"), str(here / "sub" / "b.csv")),
        user=("user", "day"),
        items=("artist", ("country", "artist"), "genre"),
        promise=Amount(Fraction(3, 10), Fraction(1, 10**6)),
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
        weights={"minutes": Weight(Fraction(121, 2), Fraction(1, 2))},
        values={"minutes": Bounds(Fraction(-1, 2), Fraction(600), Fraction(1, 10))},
        domains={"country": ("Germany",)},
        sizes=Sizes(users=1000, items=7, items_per_user=Fraction(7, 2)),
        time="at",
        period="month",
        timezone="Europe/Berlin",
        since="2026-01",
        max_k=50,
        max_items_per_user=4,
        tick=Fraction(1, 2),
        approve=True,
        prepare=True,
        refresh=5,
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
            quota=Amount(Fraction(1, 3), Fraction(0)),
            token="ab" * 32,
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
    text = FEWEST.replace('user = "user"\n', "").replace("plays.parquet", "rows")
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "prepared.dpselect").touch()
    assert read_text(text, tmp_path).data["plays"].user is None
    assert [line for line, _, _ in mistakes(text)] == [5]


# ---- what is wrong: the line with the sign `#!` is named, or the first one where there is none ---------------

PLAYS = "[data.plays]"
MORE = 'promise = { epsilon = 3, delta = "1e-5" }\n'
PERSON = '[people.ann]\nrole = "analyst"\n'
CASES: dict[str, tuple[str, str, str]] = {
    # name: what is replaced, by what, the mistake
    "no server": (FEWEST.partition("[data")[0], "", "must have server"),
    "no data": (FEWEST[FEWEST.index("[data") : FEWEST.index("[people")], "", "must have data"),
    "no people": (FEWEST[FEWEST.index("[people") :], "", "must have people"),
    "empty data": (FEWEST[FEWEST.index("[data") : FEWEST.index("[people")], "[data] #!\n", "[data] must have at least one data set"),
    "empty people": (FEWEST[FEWEST.index("[people") :], "[people] #!\n", "[people] must have at least one person"),
    "unknown table": ("[people", "[poeple.eve] #!\n[people", "[poeple] is not known here|did you mean people?"),
    "a table is no table": (FEWEST, "people = 3 #!\n" + FEWEST.partition("[people")[0], "[people] must be a table, got 3"),
    "a data set is no table": (PLAYS, f"[data]\nx = [1] #!\n{PLAYS}", "[data.x] must be a table, got a list"),
    "unknown key": ("folder", 'prot = 3 #!\nfolder', "[server] prot is not known here|did you mean port"),
    "unknown key in a table in braces": (MORE, MORE + "sizes = { users = 3, item = 2 } #!\n", "[data.plays] sizes.item is not known"),
    "unknown quoted key": (MORE, MORE + '"a b" = 1 #!\n', "[data.plays] 'a b' is not known here"),
    "no ledger": ("[server]\nledger = \"ledger.sqlite\"\n", "[server] #!\n", "[server] must have ledger"),
    "no promise": (f'{PLAYS}\nsource = "plays.parquet"\nuser = "user"\nitems = ["artist"]\n{MORE}', f'{PLAYS} #!\nsource = "plays.parquet"\nuser = "user"\nitems = ["artist"]\n', "[data.plays] must have promise"),
    "half a promise": (MORE, "promise = { epsilon = 3 } #!\n", "[data.plays] promise must have delta"),
    # server
    "ledger of another sort": ("ledger.sqlite\"", "mysql://u:canary@h/d\" #!", f"[server] ledger must be the path of a file, or postgresql://HOST/DATABASE, got {HIDDEN}"),
    "ledger is a number": ('"ledger.sqlite"', "3 #!", "[server] ledger must be a text of one line"),
    "folder is an address": ('"state"', '"postgresql://h/canary" #!', "[server] folder must be a path on this machine"),
    "folder of two lines": ('"state"', '"a\\nb" #!', "[server] folder must be a text of one line"),
    "folder in a source": ('"state"', '"plays.parquet/x" #!', "[server] folder must not lie in the source of plays"),
    "folder found by a source": ('"plays.parquet"', '"**/*.parquet"', "[server] folder must not lie in the source of plays|[server] ledger must not lie"),
    "ledger is the data": ('"ledger.sqlite"', '"plays.parquet" #!', "[server] ledger must not lie in the source of plays"),
    "ledger is the folder": ('"state"', '"ledger.sqlite" #!', "[server] folder must be another path than ledger"),
    "jobs in a file": ("folder", 'jobs = "jobs.sqlite" #!\nfolder', "[server] jobs must be an address postgresql://HOST/DATABASE, got 'jobs.sqlite'"),
    "host": ("folder", 'host = "a b" #!\nfolder', "[server] host must be a name or an address of this machine"),
    "port too large": ("folder", 'port = 70000 #!\nfolder', "[server] port must be a whole number from 0 to 65,535, got 70000"),
    "port is true": ("folder", 'port = true #!\nfolder', "[server] port must be a whole number from 0 to 65,535, got true"),
    "port is a text": ("folder", 'port = "80" #!\nfolder', "[server] port must be a whole number"),
    "url of another sort": ("folder", 'url = "ftp://x" #!\nfolder', "[server] url must be an address that begins with https://"),
    "url with a password": ("folder", 'url = "https://u:canary@x" #!\nfolder', "[server] url must be an address"),
    "url without a host": ("folder", 'url = "https://" #!\nfolder', "[server] url must be an address"),
    "url with a query": ("folder", 'url = "https://x/?a" #!\nfolder', "[server] url must be an address"),
    "url with a strange port": ("folder", 'url = "https://x:99999" #!\nfolder', "[server] url must be an address"),
    "url with a broken host": ("folder", 'url = "https://[x" #!\nfolder', "[server] url must be an address"),
    "no workers": ("folder", "workers = 0 #!\nfolder", "[server] workers must be a whole number from 1 to 1,000, got 0"),
    "one waits more than all": ("folder", "waiting = 5\nwaiting_each = 6 #!\nfolder", "[server] waiting_each must be at most waiting = 5"),
    "body": ("folder", "body = 10 #!\nfolder", "[server] body must be a whole number from 1,024"),
    "rate": ("folder", "rate = 1.5 #!\nfolder", "[server] rate must be a whole number from 1 to 1,000,000, got 1.5"),
    "proxy without addresses": ("folder", "proxy = { header = 'X' } #!\nfolder", "[server] proxy must have addresses"),
    "proxy of no addresses": ("folder", "proxy.addresses = [] #!\nfolder", "[server] proxy.addresses must be a list of IP addresses or networks, got an empty list"),
    "proxy by name": ("folder", "proxy.addresses = ['::1',\n'localhost', #!\n]\nfolder", "[server] proxy.addresses must be an IP address or a network"),
    "proxy by its middle": ("folder", "proxy.addresses = ['10.0.0.1/8'] #!\nfolder", "[server] proxy.addresses must be a network by its first address|did you mean 10.0.0.0/8?"),
    "everybody is a proxy": ("folder", "proxy.addresses = ['0.0.0.0/0'] #!\nfolder", "[server] proxy.addresses must not be every address|anybody"),
    "a header": ("folder", "proxy = { addresses = ['::1'], header = 'X: y' } #!\nfolder", "[server] proxy.header must be the name of a header"),
    "oidc": ("folder", "oidc = { issuer = 'x', audience = 'y', jwks = 'z' } #!\nfolder", "[server] oidc.issuer must be an address"),
    # data: single keys
    "source is an address": ('"plays.parquet"', '"https://u:canary@x/y" #!', "[data.plays] source must be a path on this machine, or one postgresql:// or spark: address"),
    "source is a database among files": ('"plays.parquet"', '["a",\n"postgresql://h/d"] #!', "[data.plays] source must be a path on this machine"),
    "source is empty": ('"plays.parquet"', "[] #!", "[data.plays] source must be a path, an address, or a list of paths, got an empty list"),
    "source is a table": ('"plays.parquet"', "{} #!", "[data.plays] source must be a text of one line"),
    "no user": ('user = "user"\n', "", "[data.plays] must have user|prepared"),
    "user": ('user = "user"', 'user = "" #!', "[data.plays] user must be the name of a column"),
    "user of nothing": ('user = "user"', "user = [] #!", "[data.plays] user must be the name of a column, or a list of such names"),
    "user with NUL": ('user = "user"', 'user = "a\\u0000" #!', "[data.plays] user must be the name of a column"),
    "items are one text": ('["artist"]', '"artist" #!', "[data.plays] items must be a list of columns, or of lists of columns, got 'artist'"),
    "no items": ('["artist"]', "[] #!", "[data.plays] items must be a list of columns"),
    "items twice": ('["artist"]', '["artist",\n"artist"] #!', "[data.plays] items must have each once"),
    "an item is a number": ('["artist"]', '["artist",\n\n3, #!\n]', "[data.plays] items must be the name of a column"),
    "an item says who a user is": ('["artist"]', '["artist",\n["country", "User"]] #!', "[data.plays] items must not hold 'User', which says who a user is"),
    "epsilon": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = -1, delta = 0 } #!", "[data.plays] promise.epsilon must be above 0, got -1"),
    "epsilon in decimals": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = -0.50, delta = 0 } #!", "[data.plays] promise.epsilon must be above 0, got -0.50"),
    "epsilon of no size": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = 1e999999999999999999999, delta = 0 } #!", "[data.plays] promise.epsilon must be above 0, got NaN"),
    "epsilon is infinite": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = inf, delta = 0 } #!", "[data.plays] promise.epsilon must be above 0, got Infinity"),
    "epsilon is enormous": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = 1e7, delta = 0 } #!", "[data.plays] promise.epsilon must be between 1e-100 and 1e+06"),
    "epsilon is a date": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = 2027-12-31, delta = 0 } #!", "[data.plays] promise.epsilon must be above 0, got 2027-12-31"),
    "delta": ("epsilon = 3, delta = \"1e-5\" }", "epsilon = 3, delta = 1 } #!", "[data.plays] promise.delta must be at least 0 and less than 1, got 1"),
    "title": (MORE, MORE + 'title = "a\\u001b[1m" #!\n', "[data.plays] title must be a text of one line"),
    "about": (MORE, MORE + "about = ['x'] #!\n", "[data.plays] about must be a text of up to 10,000 characters, got a list"),
    "unit": (MORE, MORE + 'unit = "one  user" #!\n', "[data.plays] unit must be a text of 1 to 200 characters"),
    "keep": (MORE, MORE + 'keep = "100%" #!\n', "[data.plays] keep must be a share from 0 to 1, 1 excluded"),
    "keep is text": (MORE, MORE + 'keep = "much" #!\n', "[data.plays] keep must be a share from 0 to 1, 1 excluded"),
    "groups": (MORE, MORE + 'groups = "country" #!\n', "[data.plays] groups must be a list of columns, got 'country'"),
    "groups twice": (MORE, MORE + 'groups = ["a", "a"] #!\n', "[data.plays] groups must have each once"),
    "groups of users": (MORE, MORE + 'groups = [\n"a",\n"user"] #!\n', "[data.plays] groups must not hold 'user'"),
    "filters": (MORE, MORE + "filters = ['a'] #!\n", "[data.plays] filters must be a table, got a list"),
    "filters of users": (MORE, MORE + 'filters = { USER = "any" } #!\n', "[data.plays] filters.USER must not hold 'USER', which says"),
    "any is mistyped": (MORE, MORE + '[data.plays.filters]\nx = "any"\ny = "all" #!\n', '[data.plays] filters.y must be a list of values, or "any" for every'),
    "no value of a filter": (MORE, MORE + "filters.x = [] #!\n", "[data.plays] filters.x must be a list of values, got an empty list"),
    "a value twice": (MORE, MORE + "filters.x = [1, true, 1.0, '1',\n1] #!\n", "[data.plays] filters.x must have each value once"),
    "a value is a list": (MORE, MORE + "filters.x = [1, [2]] #!\n", "[data.plays] filters.x must be a text, a number, true, false, a date"),
    "a value is a time": (MORE, MORE + "filters.x = [10:00:00] #!\n", "[data.plays] filters.x must be a text, a number, true, false, a date"),
    "a value with an offset": (MORE, MORE + "filters.x = [2027-12-31T10:00:00Z] #!\n", "[data.plays] filters.x must be a text|offset"),
    "a value is no number": (MORE, MORE + "filters.x = [nan] #!\n", "[data.plays] filters.x must be a text, a number"),
    "a value is too large": (MORE, MORE + "filters.x = [1e301] #!\n", "[data.plays] filters.x must be a number of a size"),
    "a column without a name": (MORE, MORE + 'filters."" = "any" #!\n', "[data.plays] filters.'' must be the name of a column"),
    "weights of users": (MORE, MORE + "weights.user = { at_most = 3 } #!\n", "[data.plays] weights.user must not hold 'user'"),
    "weights without a cap": (MORE, MORE + "weights.m = { unit = 3 } #!\n", "[data.plays] weights.m must have at_most"),
    "a cap of 0": (MORE, MORE + "weights.m = { at_most = 0 } #!\n", "[data.plays] weights.m.at_most must be a positive, finite number, got 0"),
    "a cap that is no unit": (MORE, MORE + "weights.m = { at_most = 3, unit = 2 } #!\n", "[data.plays] weights.m.at_most must be a whole number of units"),
    "a cap without its unit": (MORE, MORE + "weights.m = { at_most = 0.5 } #!\n", "[data.plays] weights.m.unit must be given where at_most is no whole number|a tenth"),
    "a unit of nothing": (MORE, MORE + "weights.m = { at_most = 3, unit = 'x' } #!\n", "[data.plays] weights.m.unit must be a finite number, got 'x'"),
    "values of users": (MORE, MORE + "values.user = { low = 0, high = 1 } #!\n", "[data.plays] values.user must not hold 'user'"),
    "bounds in the wrong order": (MORE, MORE + "values.m = { low = 1.5, high = 1 } #!\n", "[data.plays] values.m.high must be above low, got 1"),
    "a step of 0": (MORE, MORE + "values.m = { low = 0, high = 1, step = 0 } #!\n", "[data.plays] values.m.step must be a positive, finite number"),
    "a step too wide": (MORE, MORE + "values.m = { low = 0, high = 1, step = 1.5 } #!\n", "[data.plays] values.m.step must be at most the distance of the bounds, got 1.5"),
    "a domain of nothing asked": (MORE, MORE + "domains.arist = ['x'] #!\n", "[data.plays] domains.arist must be a column of items or of groups|did you mean artist?"),
    "a domain is a text": (MORE, MORE + "domains.artist = 'x' #!\n", "[data.plays] domains.artist must be a list of values, got 'x'"),
    "sizes": (MORE, MORE + "sizes.users = 0 #!\n", "[data.plays] sizes.users must be a whole number from 1 to"),
    "many items of each": (MORE, MORE + "sizes = { items = 10, items_per_user = 9.5 } #!\n", "[data.plays] sizes.items_per_user must be at most nine tenths of items"),
    "skew": (MORE, MORE + "sizes.skew = -0.1 #!\n", "[data.plays] sizes.skew must be a number from 0 to 10, got -0.1"),
    "max_k": (MORE, MORE + "max_k = 0 #!\n", "[data.plays] max_k must be a whole number from 1 to"),
    "max_items_per_user": (MORE, MORE + "max_items_per_user = '3' #!\n", "[data.plays] max_items_per_user must be a whole number from 1"),
    "tick of 0": (MORE, MORE + "tick = 0 #!\n", "[data.plays] tick must be a number above 0 and at most 3,600, got 0"),
    "tick too long": (MORE, MORE + "tick = 3600.5 #!\n", "[data.plays] tick must be a number above 0 and at most 3,600, got 3600.5"),
    "approve": (MORE, MORE + "approve = 1 #!\n", "[data.plays] approve must be true or false, got 1"),
    # data: keys beside each other
    "period without time": (MORE, MORE + 'period = "month" #!\n', "[data.plays] period must be given with time"),
    "time without period": (MORE, MORE + 'time = "at" #!\n', "[data.plays] time must be given with period"),
    "a zone without period": (MORE, MORE + 'timezone = "Europe/Berlin" #!\n', "[data.plays] timezone must be given with period"),
    "since without period": (MORE, MORE + 'since = "2026-01" #!\n', "[data.plays] since must be given with period"),
    "no such zone": (MORE, MORE + 'time = "at"\nperiod = "month"\ntimezone = "Europe/Berlim" #!\n', "[data.plays] timezone must be the name of a time zone|Europe/Berlin"),
    "no such period": (MORE, MORE + 'time = "at"\nperiod = "months" #!\n', "[data.plays] period must be one of day, week, month, quarter, year, got 'months'|did you mean month?"),
    "since another sort": (MORE, MORE + 'time = "at"\nperiod = "week"\nsince = "2026-01" #!\n', "[data.plays] since must name a week, got '2026-01'|2026-W40"),
    "since several": (MORE, MORE + 'time = "at"\nperiod = "month"\nsince = "2026-01..2026-02" #!\n', "[data.plays] since must name one month"),
    "a day is a date": (MORE, MORE + 'time = "at"\nperiod = "day"\nsince = 2026-01-01 #!\n', "[data.plays] since must be a text of one line"),
    "time says who": (MORE, MORE + 'time = "user" #!\nperiod = "day"\n', "[data.plays] time must not say who a user is"),
    "split of keys": ('["artist"]', '["artist", ["a", "b"]] #!\nsplit = " "', "[data.plays] items must be single columns where split is given"),
    "split of nothing": (MORE, MORE + 'split = "" #!\n', "[data.plays] split must be the text that stands between items"),
    "a table of a file": (MORE, MORE + 'table = "x" #!\n', "[data.plays] table must be left out where the source is files"),
    "a database without table": (f'{PLAYS}\nsource = "plays.parquet"', f'{PLAYS} #!\nsource = "rows.duckdb"', "[data.plays] must have table, which of the database is meant"),
    "an address without table": (f'{PLAYS}\nsource = "plays.parquet"', f'{PLAYS} #!\nsource = "spark:local"', "[data.plays] must have table"),
    "a snapshot of a file": (MORE, MORE + 'snapshot = "x" #!\n', "[data.plays] snapshot must be left out where the source is files"),
    "prepare a database": (f'"plays.parquet"\nuser = "user"', '"postgresql://h/d"\ntable = "t"\nprepare = true #!\nuser = "user"', "[data.plays] prepare must be left out where the source is a database"),
    "refresh what is not prepared": (MORE, MORE + "refresh = 5 #!\n", "[data.plays] refresh must be left out without prepare = true"),
    # people
    "a name that cannot be seen": ("[people.ann]", '[people."an\\u200bn"] #!', "[people.'an\\u200bn'] must be a text of 1 to 200 characters that can be seen"),
    "a data set without a name": (PLAYS, '[data.""] #!', "[data.''] must be a text of 1 to 200 characters"),
    "no role": (PERSON, "[people.ann] #!\n", "[people.ann] must have role"),
    "role": ('"analyst"', '"Analyst" #!', "[people.ann] role must be one of owner, analyst, auditor, got 'Analyst'|did you mean analyst?"),
    "role is a list": ('"analyst"', '["analyst"] #!', "[people.ann] role must be one of owner, analyst, auditor, got a list"),
    "no such data": (PERSON, PERSON + 'data = [\n"plais"] #!\n', "[people.ann] data must name data sets, got 'plais'|did you mean plays?"),
    "data of nobody": (PERSON, PERSON + "data = [] #!\n", "[people.ann] data must be a list of names of data sets, or be left out for all, got an empty list"),
    "data twice": (PERSON, PERSON + 'data = ["plays", "plays"] #!\n', "[people.ann] data must have each data set once"),
    "quota": (PERSON, PERSON + "quota = 1 #!\n", "[people.ann] quota must be a table, got 1"),
    "quota of nothing": (PERSON, PERSON + "quota = { epsilon = 0, delta = 0.1 } #!\n", "[people.ann] quota.epsilon must be above 0, got 0"),
    "until is a text": (PERSON, PERSON + 'until = "2027-12-31" #!\n', "[people.ann] until must be a date without quotes, such as 2027-12-31, got '2027-12-31'"),
    "until is a moment": (PERSON, PERSON + "until = 2027-12-31T00:00:00 #!\n", "[people.ann] until must be a date without quotes"),
    "a token itself": (f'"sha256:{DIGESTS[0]}"', '"canary-canary" #!', '[people.ann] token must be "sha256:" and 64 hexadecimal digits, got something else|dpselect gateway token'),
    "half a digest": (f'"sha256:{DIGESTS[0]}"', '"sha256:canary" #!', "[people.ann] token must be"),
    "a token is a number": (f'"sha256:{DIGESTS[0]}"', "3 #!", "[people.ann] token must be"),
    "subject": (PERSON, PERSON + 'subject = " " #!\n', "[people.ann] subject must be a text of one line"),
    "one token of two": (PERSON, f'[people.eve]\nrole = "owner"\ntoken = "sha256:{DIGESTS[0].upper()}" \n{PERSON}', "[people.ann] token must be another than that of eve"),
    "one subject of two": (PERSON, f'[people.eve]\nrole = "owner"\nsubject = "x"\n{PERSON}subject = "x" #!\n', "[people.ann] subject must be another than that of eve"),
    "one name of two": ("[people.ann]", '[people."é"]\nrole = "owner"\n[people."e\\u0301"] #!', "is there twice: the names look the same"),
}  # fmt: skip


def where(text: str) -> int | None:
    """The line with the sign."""
    return next((at for at, line in enumerate(text.splitlines(), 1) if line.endswith("#!")), None)


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES.keys())
def test_each_mistake_has_its_line(before: str, after: str, expected: str) -> None:
    assert FEWEST.count(before) == 1
    text = FEWEST.replace(before, after)
    line = where(text)
    found = mistakes(text)
    told = "\n".join(f"{said}|{hint}" for _, said, hint in found)
    for part in expected.split("|"):
        assert part in told
    if line is not None:
        assert [one for one, _, _ in found] == [line]
    assert "canary" not in told


def test_all_mistakes_are_told_at_once() -> None:
    text = FEWEST.replace("epsilon = 3", "epsilon = -1").replace('"analyst"', '"analist"\ndata = ["play"]')
    text = text.replace("folder", "foldr").replace('["artist"]', '["artist",\n "user"]')
    with pytest.raises(SettingsError) as caught:
        read_text(text, BASE, "here/gateway.toml")
    assert str(caught.value) == (
        "6 mistakes in here/gateway.toml\n"
        "here/gateway.toml:1: [server] must have folder\n"
        "here/gateway.toml:3: [server] foldr is not known here\n  hint: did you mean folder or ledger?\n"
        "here/gateway.toml:9: [data.plays] items must not hold 'user', which says who a user is\n"
        "here/gateway.toml:10: [data.plays] promise.epsilon must be above 0, got -1\n"
        "here/gateway.toml:13: [people.ann] role must be one of owner, analyst, auditor, got 'analist'\n"
        "  hint: did you mean analyst?\n"
        "here/gateway.toml:14: [people.ann] data must name data sets, got 'play'\n  hint: did you mean plays?"
    )
    assert pickle.loads(pickle.dumps(caught.value)).mistakes == caught.value.mistakes


# ---- what is no TOML, or no file -----------------------------------------------------------------------------

NO_TOML = {
    "a syntax error": ("[server]\nledger = \n", 2, "is no TOML: "),
    "a key twice": ("[server]\nport = 1\nport = 2\n", 3, "is no TOML: "),
    "an open text": ('[server]\nurl = """canary\n\n', 4, "is no TOML: "),
    "no such day": ("[server]\n\nuntil = 2027-02-30\n", 3, "is no TOML: "),
    "too deep": ("x = " + "[" * 100_000, None, "is nested too deeply"),
    "too many digits": ("x = " + "1" * 10_000, None, "holds what no setting can be"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "said"), NO_TOML.values(), ids=NO_TOML.keys())
def test_what_is_no_toml(text: str, line: int | None, said: str) -> None:
    (found,) = mistakes(text)
    assert found[0] == line
    assert found[1].startswith(said)
    assert "canary" not in found[1]


def test_what_is_no_file(tmp_path: Path) -> None:
    binary, long = tmp_path / "binary.toml", tmp_path / "long.toml"
    binary.write_bytes(b"[server]\n\nledger = '\xff'\n")
    long.write_bytes(b"#" * (MOST + 1))
    for path, said in (
        (tmp_path / "none.toml", "none.toml: cannot be read: "),
        (tmp_path, ": cannot be read: "),
        ("a\0b", ": cannot be read: "),
        (binary, "binary.toml:3: must be text in UTF-8"),
        (long, "long.toml: must have at most "),
    ):
        with pytest.raises(SettingsError) as caught:
            read(path)
        assert said in str(caught.value)


# ---- whatever is written, settings come of it or one error ---------------------------------------------------

LINES = [line for line in (example() + WHOLE.replace("[server]", "[x]")).splitlines() if line.strip()]
ODD = st.sampled_from(
    ["1", "-1", "0", "true", "nan", "inf", "1e400", '""', '"any"', '"\\u0000"', "[]", "[1, 'a']", "[[]]", "{}"]
    + ["{ a = 1 }", "2027-12-31", "2027-12-31T10:00:00Z", "10:00:00", '"postgresql://h/d"', '"spark:x"', '"a://b"']
    + ['["user"]', '"user"', '"/"', '"."', '"~"', "[{}]", "9223372036854775808", '"\\U0001F600"', "'1/3'", '"2026-01"']
)


@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(["drop", "odd", "uncomment", "twice"]), ODD), min_size=1, max_size=6))  # fmt: skip
@examples(400)
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
    try:
        assert isinstance(read_text("\n".join(written), BASE), Settings)
    except SettingsError as error:
        assert error.mistakes


@given(st.text(alphabet="[]{}=.,\"'#\n\\ ab1é", max_size=60), st.integers(0, len(FEWEST)))
@examples(400)
def test_characters_put_in_at_random(characters: str, at: int) -> None:
    try:
        assert isinstance(read_text(FEWEST[:at] + characters + FEWEST[at:], BASE), Settings)
    except SettingsError as error:
        assert error.mistakes
