"""`dpselect ledger`, and --budget on the commands that touch data, as a person or a script uses them."""

from __future__ import annotations

import getpass
import hashlib
import json
import re
import sqlite3
import sys
from fractions import Fraction

import pytest

import dpselect as dps
from dpselect.ledger import Charge
from tests.end_to_end.conftest import ask, process


@pytest.fixture
def book(dpselect, tmp_path):
    """A ledger in which (70, 2e-5) is promised, and ann may use (70, 1e-5) of it."""
    path = tmp_path / "budget.sqlite"
    assert dpselect("ledger", "init", path).status == 0
    early = dpselect("ledger", "grant", path, "--analyst", "ann", "--epsilon", "70", "--delta", "1e-5")
    assert (early.status, early.out) == (6, "")
    assert "there is no promise for the data 'default'" in early.err
    made = dpselect("ledger", "data", path, "default", "--epsilon", "70", "--delta", "2e-5")
    assert (made.status, made.out) == (
        0,
        "default: (70, 2e-05) is promised to one user, for all answers to all analysts together; questions compose\n",
    )
    made = dpselect("ledger", "grant", path, "--analyst", "ann", "--epsilon", "70", "--delta", "1e-5")
    assert (made.status, made.out) == (
        0,
        "ann on default: may use epsilon 70 and delta 0.00001 of it: 100 % of what is promised, adding up or "
        "composing, so epsilons of answers may add up to more\n",
    )
    return path


def paid(events, book, *more):
    return [*ask(events), "--budget", book, "--analyst", "ann", "--quiet", *more]


def shown(dpselect, book):
    return json.loads(dpselect("ledger", "show", book, "--format", "json").out)


def of_ann(dpselect, book):
    (row,) = shown(dpselect, book)["analysts"]
    assert (row["analyst"], row["dataset"]) == ("ann", "default")
    return row


def test_a_total_that_is_too_small_to_compose_is_not_said_to(dpselect, tmp_path):
    """The order is that of the first total: what is promised later may be less than any divergence of it."""
    path = tmp_path / "budget.sqlite"
    dpselect("ledger", "init", path)
    dpselect("ledger", "data", path, "plays", "--epsilon", "2", "--delta", "1e-5")
    assert dpselect("ledger", "show", path, "--format", "json").out.count('"composes": true') == 1
    low = dpselect("ledger", "data", path, "plays", "--epsilon", "1/4", "--delta", "1e-5")
    assert low.out.endswith(
        "epsilons add up, for how an account composes is fixed when it is made, and this total is too small for that\n"
    )
    assert '"composes": false' in dpselect("ledger", "show", path, "--format", "json").out


def test_a_question_is_paid_repeated_and_refused(dpselect, events, book):
    first = dpselect(*paid(events, book))
    assert first.status == 0
    charged = "charged: 42.86 % of the budget of ann (epsilon 30); 57.14 % left; at least 1 more like it fits now"
    assert charged in " ".join(first.out.split())
    assert (of_ann(dpselect, book)["spent_epsilon"], of_ann(dpselect, book)["spent_delta"]) == (30, 2e-8)
    again = dpselect(*paid(events, book))
    assert "charged: nothing: this is the stored answer" in again.out
    assert again.out.splitlines()[:4] == first.out.splitlines()[:4]
    fresh = dpselect(*paid(events, book, "--fresh", "--format", "json"))
    assert json.loads(fresh.out)["charged"]["questions_left"] == 0
    refused = dpselect(*paid(events, book, "--fresh"))
    assert (refused.status, refused.out) == (5, "")
    assert refused.err.startswith(
        "dpselect: the question must reserve up to 42.86 % of the quota of 'ann' on 'default' while it runs, "
        "but only 14.28 % is left\n"
    )
    assert "hint: " in refused.err


@pytest.mark.parametrize("with_periods", ["a", "z"])
def test_show_tells_of_data_with_and_without_periods_together(dpselect, book, with_periods):
    dpselect(
        "ledger", "data", book, with_periods, "--epsilon", "1", "--delta", "0", "--period", "month", "--time", "at"
    )
    dpselect("ledger", "grant", book, "--analyst", "ann", "--data", with_periods, "--epsilon", "1", "--delta", "0")
    told = dpselect("ledger", "show", book)
    assert (told.status, told.err) == (0, "")
    of_data, of_analysts, unit = (part.splitlines() for part in told.out.split("\n\n"))
    assert unit[0].startswith("quota, used, own left and common left are parts of what is promised")
    assert of_data[0].split()[:3] == ["dataset", "period", "unit"]
    assert of_analysts[0].split()[:3] == ["analyst", "dataset", "period"]
    assert sum("month" in line.split()[1:3] for line in (*of_data, *of_analysts)) == 2


def test_history_says_what_is_left_in_the_periods_of_a_question(dpselect, book):
    """Also beside an entry that charges nothing, and has no periods of its own."""
    dpselect("ledger", "data", book, "monthly", "--epsilon", "1", "--delta", "0", "--period", "month", "--time", "at")
    dpselect("ledger", "grant", book, "--analyst", "ann", "--data", "monthly", "--epsilon", "1", "--delta", "0")
    words = "--analyst ann --epsilon 0.25 --delta 0 --neighbors add-remove --note mean --during 2026-10".split()
    assert dpselect("ledger", "pay", book, "monthly", *words, "--unit", "one user in one month").status == 0
    rows = json.loads(dpselect("ledger", "history", book, "--data", "monthly", "--format", "json").out)["entries"]
    left = [(row["what"], row["left"]) for row in rows[2:]]
    assert left == [("hold", 0.75), ("read", 0.75), ("settle", 0.75)]


def test_show_in_json_has_every_account_and_every_analyst(dpselect, events, book):
    dpselect("ledger", "data", book, "other", "--epsilon", "1", "--delta", "0", "--keep", "0.2", "--unit", "one device")
    dpselect("ledger", "grant", book, "--analyst", "ann", "--data", "other", "--epsilon", "1", "--delta", "1e-6")
    dpselect("ledger", "grant", book, "--analyst", "bob", "--epsilon", "35", "--delta", "1e-6")
    dpselect(*paid(events, book))
    held(book, started=False)
    found = shown(dpselect, book)
    default, other = found["data"]
    assert [(one["dataset"], one["unit"], one["period"]) for one in (default, other)] == [
        ("default", "one user", None),
        ("other", "one device", None),
    ]
    assert (default["epsilon"], default["delta"], default["composes"], default["kept"]) == (70, 2e-5, True, 0)
    assert (other["epsilon"], other["delta"], other["composes"], other["kept"]) == (1, 0, False, 0.2)
    assert (default["used"], other["used"], other["reserved"]) == (pytest.approx(5 / 7), 0, 0)
    assert 0 < default["reserved"] <= 2 / 7
    ann, bob, of_other = found["analysts"]
    assert [(one["analyst"], one["dataset"]) for one in (ann, bob, of_other)] == [
        ("ann", "default"),
        ("bob", "default"),
        ("ann", "other"),
    ]
    assert (ann["granted_epsilon"], ann["spent_epsilon"], ann["reserved_epsilon"]) == (70, 30, 20)
    assert (ann["granted_delta"], ann["spent_delta"], ann["reserved_delta"]) == (1e-5, 2e-8, 1e-6)
    assert (bob["granted_epsilon"], bob["spent_epsilon"], bob["reserved_epsilon"]) == (35, 0, 0)
    assert (ann["left"], bob["left"]) == (pytest.approx(2 / 7), pytest.approx(4 / 7))  # of their quotas
    parts = [[one[name] for name in ("quota", "used", "own_left", "common_left")] for one in (ann, bob)]
    assert parts[0] == pytest.approx([1, 5 / 7, 2 / 7, 2 / 7])  # of what is promised
    assert parts[1] == pytest.approx([1 / 2, 0, 1 / 2, 2 / 7])
    assert of_other["left"] == 1
    assert found["entries"] == 9
    assert len(found["head"]) == 64
    ours = json.loads(dpselect("ledger", "show", book, "--data", "other", "--format", "json").out)
    assert (ours["data"], ours["analysts"]) == ([other], [of_other])


def test_show_and_history_for_people(dpselect, events, book):
    dpselect(*paid(events, book, "--where", "weather = 'dry'"))
    table = dpselect("ledger", "show", book).out.splitlines()
    assert table[0].split() == ["dataset", "unit", "promise", "composes", "used", "reserved", "kept"]
    assert table[1].split("  ")[0] == "default"
    assert table[1].split()[-7:] == ["yes", "42.86", "%", "0", "%", "0", "%"]
    assert table[2] == ""
    assert table[3].split() == "analyst dataset granted quota used own left common left delta left".split()
    assert table[4].split() == "ann default (70, 1e-05) 100 % 42.86 % 57.14 % 57.14 % 9.98e-06".split()
    lines = dpselect("ledger", "history", book).out.splitlines()
    assert [line.split()[5] for line in lines[2:]] == ["grant", "hold", "read", "settle"]
    assert lines[2].split()[6] == getpass.getuser()  # who granted it
    assert lines[1].split()[3:] == ["default", "data", "70", "2e-05"]  # of no analyst
    said = "top 3 of animal by number of users, where weather = 'dry', at epsilon 30 and delta 2e-08"
    assert f"{said}, from {events.name} with users in user" in lines[3]
    rows = json.loads(dpselect("ledger", "history", book, "--analyst", "ann", "--format", "json").out)["entries"]
    assert [row["left"] for row in rows] == [1, *[pytest.approx(4 / 7)] * 3]


def test_an_empty_ledger_and_names_it_does_not_know(dpselect, tmp_path, book):
    assert dpselect("ledger", "init", tmp_path / "new.sqlite").status == 0
    assert dpselect("ledger", "show", tmp_path / "new.sqlite").out == "nothing was promised yet\n"
    assert dpselect("ledger", "history", tmp_path / "new.sqlite").out == "no entries\n"
    for action in ("show", "history"):
        unknown = dpselect("ledger", action, book, "--analyst", "eve", "--data", "x")
        assert unknown.status == 6
        assert "knows no analyst 'eve' with data set 'x'" in unknown.err


def test_the_spending_as_a_picture(dpselect, events, book, tmp_path):
    dpselect(*paid(events, book))
    picture = tmp_path / "spending.svg"
    assert dpselect("ledger", "history", book, "--plot", picture).status == 0
    assert "ann on default" in picture.read_text() or "<svg" in picture.read_text()
    assert dpselect("ledger", "show", book, "--plot", tmp_path / "spending.txt").status == 4


def test_verify_is_clean_or_names_every_problem(dpselect, events, book):
    dpselect(*paid(events, book))
    clean = dpselect("ledger", "verify", book)
    assert (clean.status, clean.out[:17]) == (0, "clean: 5 entries,")
    head = clean.out.split()[-1]
    dpselect(*paid(events, book, "--fresh"))
    assert dpselect("ledger", "verify", book, "--head", head).status == 0
    assert dpselect("ledger", "verify", book, "--head", "0" * 64).status == 6
    with sqlite3.connect(book) as file:
        triggers = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in triggers:
            file.execute(f'DROP TRIGGER "{name}"')
        table = next(
            name
            for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            if "entr" in name and "sqlite" not in name
        )
        file.execute(f"DELETE FROM {table} WHERE number = 5")
    broken = dpselect("ledger", "verify", book)
    assert broken.status == 6
    assert broken.out
    assert "not clean" in broken.err


def held(book, *, started):
    """A question that died before its first row, or after it."""
    with dps.Ledger(book) as ledger:
        account, question = dps.Account("default", "ann"), '{"verb": "top_k", "asked": {"k": 3}, "data": {}}'
        reservation = ledger.reserve(account, Charge.round_up(Fraction(20), Fraction(1, 10**6)), question)
        if started:
            ledger.start(reservation)


def test_dead_reservations_are_shown_and_those_that_read_nothing_given_back(dpselect, book):
    assert dpselect("ledger", "pending", book).out == "nothing is reserved\n"
    held(book, started=False)
    held(book, started=True)
    found = dpselect("ledger", "pending", book).out
    lines = found.splitlines()
    assert lines[0].split() == ["number", "when", "analyst", "dataset", "rows", "epsilon", "delta", "question"]
    assert "none was read" in lines[1]
    assert "may have been read" in lines[2]
    assert lines[-1] == "1 of them read no row: --give-back frees what they reserve"
    assert dpselect("ledger", "pending", book, "--analyst", "eve", "--give-back").out == "nothing is reserved\n"
    assert of_ann(dpselect, book)["reserved_epsilon"] == 40
    freed = dpselect("ledger", "pending", book, "--give-back")
    assert freed.out.splitlines()[1].count("given back") == 1
    assert freed.out.splitlines()[-1] == "gave back 1: no row had been read"
    assert of_ann(dpselect, book)["reserved_epsilon"] == 20
    (left,) = json.loads(dpselect("ledger", "pending", book, "--format", "json").out)["reservations"]
    assert (left["number"], left["rows"], left["epsilon"]) == (4, "may have been read", 20)
    assert dpselect("ledger", "pending", book, "--give-back").out.splitlines()[-1].count("may have been read") == 1
    assert dpselect("ledger", "verify", book).status == 0


@pytest.mark.filterwarnings("default::dpselect.errors.LedgerWarning")
def test_a_ledger_that_everybody_can_read_is_told_of_in_one_sentence(dpselect, book):
    book.chmod(0o644)
    told = dpselect("ledger", "show", book)
    assert told.status == 0
    assert told.err.startswith(f"dpselect: mind: {book} may be read by every user of this machine")
    assert told.err.splitlines()[1:] == [f"hint: chmod 600 {book}"]


def test_an_export_is_for_its_owner_alone(dpselect, book, tmp_path):
    assert dpselect("ledger", "export", book, "-o", tmp_path / "entries.jsonl").status == 0
    assert (tmp_path / "entries.jsonl").stat().st_mode & 0o777 == 0o600


def test_export_writes_every_entry_and_never_over_a_file(dpselect, events, book, tmp_path):
    dpselect(*paid(events, book))
    out = dpselect("ledger", "export", book).out.splitlines()
    entries = [json.loads(line) for line in out]
    assert [entry["kind"] for entry in entries] == ["data", "grant", "hold", "read", "settle"]
    assert [entry["previous"] for entry in entries[1:]] == [entry["digest"] for entry in entries[:-1]]
    for entry in entries:  # whoever has the export can check every digest
        names = "previous number kind dataset analyst epsilon delta question refers_to release renyi terms at".split()
        fields = json.dumps([entry[name] for name in names], separators=(",", ":"))
        assert hashlib.sha256(fields.encode()).hexdigest() == entry["digest"]
    target = tmp_path / "entries.jsonl"
    assert dpselect("ledger", "export", book, "-o", target).status == 0
    assert target.read_text().splitlines() == out
    assert dpselect("ledger", "export", book, "-o", target).status == 4


def test_a_share_of_the_budget_is_asked_in_place_of_an_epsilon(dpselect, events, book, tmp_path):
    account = ["--budget", book, "--analyst", "ann", "--quiet"]
    columns = ["--user", "user", "--item", "animal", *account]
    (scores := tmp_path / "scores.csv").write_text("label,score\nred,1\nblue,900\n")
    questions = {
        "choose by score": ["choose", scores, "--label", "label", "--score", "score", *account],
        "top": ["top", events, "-k", "2", *columns],
        "union": ["union", events, "--max-items-per-user", "2", *columns],
        "choose": ["choose", events, "--domain", "ant,bee", *columns],
    }
    for name, asked in questions.items():
        ended = dpselect(*asked, "--share", "1%")
        assert ended.status == 0, (name, ended)
        assert re.search(r"charged: (0\.\d+|1|1\.00) % of the budget of ann", ended.out), (name, ended.out)
        again = dpselect(*asked, "--share", "1/100")
        assert ("charged: nothing" in again.out) is (name != "choose by score")  # which nothing names
    for share, says in {
        "0": "share must be a share above 0",
        "abc": "share must be",
        "2": 'all of it is "100%"',
    }.items():
        ended = dpselect(*questions["choose"], "--share", share)
        assert (ended.status, ended.out) == (2, "")
        assert says in ended.err
    ended = dpselect(*questions["choose"], "--share", "1%", "--epsilon", "1")
    assert (ended.status, ended.out) == (2, "")
    assert "share must be left out if epsilon is given" in ended.err
    ended = dpselect("choose", events, "--user", "user", "--item", "animal", "--domain", "ant,bee", "--share", "1%")
    assert (ended.status, ended.out) == (2, "")
    assert "share must be given with a budget" in ended.err


BAD = [
    ("grant --epsilon 0,5 --delta 1e-6", "epsilon must be"),
    ("grant --epsilon 0 --delta 0 --total", "epsilon must be above 0"),
    ("grant --epsilon 1 --delta 0 --every month", "every must be left out, because the data have no periods"),
    ("data --epsilon 20 --delta 2e-5", "epsilon must cover what is used, by sum or by Rényi divergence, got 20"),
    ("data --epsilon 70 --delta 2e-5 --keep 1", "keep must be a share from 0 to 1"),
]


@pytest.mark.parametrize(("settings", "message"), BAD, ids=[settings for settings, _ in BAD])
def test_a_bad_amount_is_refused_and_changes_nothing(dpselect, events, book, settings, message):
    dpselect(*paid(events, book))
    before = shown(dpselect, book)
    action, *words = settings.split()
    whose = ["default"] if action == "data" else ["--analyst", "ann"]
    found = dpselect("ledger", action, book, *whose, *words)
    assert (found.status, found.out) == (2, "")
    assert found.err.startswith(f"dpselect: {message}")
    assert shown(dpselect, book) == before


@pytest.mark.parametrize(("epsilon", "delta"), [("30", "1e-6"), ("20", "1e-5")])
def test_a_total_can_be_lowered_and_nothing_more_fits(dpselect, events, book, epsilon, delta):
    dpselect(*paid(events, book))
    grant = ["ledger", "grant", book, "--analyst", "ann", "--epsilon", epsilon, "--delta", delta, "--total"]
    assert dpselect(*grant).status == 0
    assert dpselect(*paid(events, book, "--fresh")).status == 5
    assert dpselect(*paid(events, book)).status == 0  # the stored answer is free


@pytest.mark.filterwarnings("ignore::dpselect.errors.LedgerWarning")
def test_mistakes_with_the_ledger(dpselect, events, book, tmp_path):
    missing = dpselect(*ask(events), "--budget", tmp_path / "none.sqlite", "--analyst", "ann")
    assert missing.status == 6
    assert "dpselect ledger init" in missing.err
    mine = dpselect(*ask(events), "--budget", book)  # by this computer's name for the user, who was granted nothing
    assert mine.status == 6
    assert f"analyst {getpass.getuser()!r} has no budget for the data set 'default'" in mine.err
    alone = dpselect(*ask(events), "--analyst", "ann")
    assert (alone.status, alone.err.splitlines()[0]) == (
        2,
        "dpselect: --budget must be given with --analyst, got nothing",
    )
    for words in (ask(events), ["ledger", "grant", book, "--epsilon", "1", "--delta", "0"]):
        payer = ["--analyst", "ann", "--data", ""] + ["--budget", book] * (words[0] == "top")
        nameless = dpselect(*words, *payer)
        assert nameless.status == 2
        assert nameless.err.startswith("dpselect: --data must ")
    unknown = dpselect(*ask(events), "--budget", book, "--analyst", "anne")
    assert unknown.status == 6
    assert "did you mean ann?" in unknown.err
    assert dpselect("ledger", "init", book).status == 6
    assert dpselect("ledger", "verify", events).status == 6
    assert dpselect("ledger").status == 2
    assert of_ann(dpselect, book)["spent_epsilon"] == 0


def test_the_command_as_a_process(events, book):
    done = process(*paid(events, book, "--format", "json"))
    assert done.returncode == 0
    charged = json.loads(done.stdout)["charged"]
    assert (charged["epsilon"], charged["questions_left"]) == (30, 1)
    assert charged["left"] == pytest.approx(4 / 7, abs=1e-6)
    assert process("ledger", "verify", book).returncode == 0


STATED = ["default", "--analyst", "ann", "--epsilon", "1", "--delta", "1e-7", "--unit", "one user"]
STATED += ["--neighbors", "add-remove", "--note", "OpenDP mean"]


def test_a_stated_price_is_paid_and_its_program_runs(dpselect, book, tmp_path):
    assert dpselect("ledger", "pay", book, *STATED).status == 0
    code = f"import sys; open({str(tmp_path / 'ran')!r}, 'w').write(sys.argv[1]); sys.exit(7)"
    ran = process("ledger", "pay", str(book), *STATED, "--run", sys.executable, "-c", code, "--epsilon")
    assert ran.returncode == 7
    assert "paid what ann stated; " in ran.stderr
    assert (tmp_path / "ran").read_text() == "--epsilon"
    row = of_ann(dpselect, book)
    assert (row["spent_epsilon"], row["spent_delta"], row["reserved_epsilon"]) == (2, 2e-7, 0)
    told = dpselect("ledger", "history", book).out
    assert told.count("price stated by ann: OpenDP mean, at epsilon 1 and delta 1e-07") == 6  # reserved, run, settled
    assert dpselect("ledger", "verify", book).status == 0


def test_a_program_that_only_looks_like_one_is_paid(dpselect, book, tmp_path):
    """The system says so when it is run, which is after the price was reserved."""
    (tmp_path / "run").write_text("no program")
    (tmp_path / "run").chmod(0o700)
    found = dpselect("ledger", "pay", book, *STATED, "--run", tmp_path / "run")
    assert found.status == 126
    assert "the price was charged, but" in found.err
    assert of_ann(dpselect, book)["spent_epsilon"] == 1


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        (["--run", "no-such-program"], 2, "--run must start with a program that can be run, got no-such-program"),
        (["--run"], 2, "--run must start with a program that can be run, got nothing"),
        (["--unit", "one row"], 2, "unit must be 'one user'"),
        (["--neighbors", "replace-one"], 2, "neighbors must be add-remove"),
        (["--delta", "2e-5"], 5, "has 1e-05 left for that"),
        (["--rho", "1"], 2, "--rho"),
        (["--analyst", "eve"], 6, "eve"),
    ],
)
def test_a_stated_price_that_is_refused_costs_nothing_and_runs_nothing(dpselect, book, more, status, message):
    found = dpselect("ledger", "pay", book, *STATED, *more)
    assert found.status == status
    assert message in found.err
    assert of_ann(dpselect, book)["spent_epsilon"] == 0


def test_upgrade_continues_a_ledger_and_closes_it(dpselect, events, book, tmp_path):
    new = tmp_path / "new.sqlite"
    first = dpselect(*paid(events, book))
    held(book, started=True)
    before, head = of_ann(dpselect, book), shown(dpselect, book)["head"]
    done = dpselect("ledger", "upgrade", book, new)
    assert (done.status, done.err) == (0, "")
    of_old = rf"ledger [0-9a-f]{{32}} of {shown(dpselect, book)['entries'] - 1} entries"
    said = (
        rf"continued from {of_old}; head [0-9a-f]{{64}}\nthe old ledger is closed: it can still be read and verified; "
    )
    said += r"let all programs use the new one\n1 reservation was open, and stays reserved: `dpselect ledger pending` "
    assert re.match(said, done.out), done.out
    assert of_ann(dpselect, new) == before
    for digest in (head, shown(dpselect, book)["head"]):
        verified = dpselect("ledger", "verify", new, "--head", digest)
        assert (verified.status, verified.err) == (0, "")
        assert re.fullmatch(
            rf"clean: \d+ entries, head [0-9a-f]{{64}}\ncontinued from {of_old}, head {head}\n", verified.out
        )
    wrong = dpselect("ledger", "verify", new, "--head", "0" * 64)
    assert (wrong.status, "no entry has the digest that was noted" in wrong.out) == (6, True)
    assert dpselect(*paid(events, new)).out.splitlines()[:4] == first.out.splitlines()[:4]
    assert of_ann(dpselect, new) == before
    old = dpselect("ledger", "verify", book, "--head", head)
    assert (old.status, "\nclosed: continued in ledger " in old.out) == (0, True)
    for words in (paid(events, book), ["ledger", "grant", book, "--analyst", "bob", "--epsilon", "1", "--delta", "0"]):
        refused = dpselect(*words)
        assert (refused.status, refused.out) == (6, "")
        assert re.search("is closed: ledger [0-9a-f]{32} continues it\nhint: name that ledger instead", refused.err)
    assert "nothing can be spent from it: ledger " in dpselect("ledger", "show", book).err
    assert dpselect("ledger", "show", new).err == ""
    told = dpselect("ledger", "history", new).out.splitlines()
    assert "continues" in told[1]
    assert re.search(of_old, told[1])
    assert json.loads(dpselect("ledger", "history", book, "--format", "json").out)["entries"][-1]["what"] == "closed"
    assert "may have been read" in dpselect("ledger", "pending", new).out
    again = dpselect("ledger", "upgrade", book, new)
    assert (again.status, again.out[:15]) == (0, "continued from ")
    elsewhere = dpselect("ledger", "upgrade", book, tmp_path / "another")
    assert (elsewhere.status, "continues it, and is not at that place" in elsewhere.err) == (6, True)
    assert len(dpselect("ledger", "upgrade", "--help").out.splitlines()) < 20
    page, record = tmp_path / "r.html", tmp_path / "r.json"
    for name in (page, record):
        assert dpselect("ledger", "report", new, "-o", name).status == 0
    assert "continued from ledger " in page.read_text()
    assert json.loads(record.read_text())["verification"]["problems"] == []
