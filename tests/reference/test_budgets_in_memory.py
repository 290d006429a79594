"""A budget in memory: every answer is paid, what does not fit is refused before a row is read, and nothing is lost."""

import contextlib
import copy
import itertools
import math
import os
import pickle
import signal
import threading
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpselect as dps
from dpselect._ground.privacy import ApproxDP
from dpselect.accounting.limits import Taken
from dpselect.asked_rows import AskedRows
from dpselect.ledger.budget import Budget
from dpselect.ledger.memory import MemoryAccount
from dpselect.ledger.question import Fingerprint
from dpselect.queries.planning import plan_question
from dpselect.queries.values import NO_FACTS
from dpselect.questions.parts import Payment
from dpselect.questions.questions import Scores
from dpselect.testing import SeededDraws
from tests.by_names import by_names, drawn, noun_of, plan_of
from tests.interrupted import interrupted_at
from tests.ledger.amounts import Costing, grant

ROWS = {"user": [*range(600), *range(300)], "item": ["ant"] * 600 + ["bee"] * 300}
HALF = ApproxDP(Fraction(1, 2), Fraction(1, 10**7))


def room(promised, charged):
    """The part of (E, D) that receipts leave, computed from the page's formulas in floats."""
    (most, delta), order = map(float, promised), {1: 23, 4: 7}[promised[0]]
    aside = delta / 2
    divergence = most - math.log(1 - 1 / order) + (math.log(aside) + math.log(order)) / (order - 1)
    epsilon, renyi, failure = (
        float(sum(one.numbers[name] for one in charged)) for name in ("epsilon", "renyi", "delta")
    )
    return 1 - max(min(epsilon / most, renyi / divergence), failure / (delta - aside))


def votes(budget, source=ROWS, **more):
    return dps.Dataset(source, user="user", item="item", budget=budget, **more)


def test_answers_are_summed_in_both_currencies_over_verbs_and_data_sets():
    budget, charged = dps.Budget(epsilon=4, delta="3e-6"), []
    for asked in (
        lambda: votes(budget).top_k(1, epsilon=1),
        lambda: votes(budget, {"user": [1], "item": ["x"]}).choose(domain=["x", "y"], epsilon=1),
        lambda: dps.quantile([1, 2, 3], bounds=(0, 9), epsilon="1/2", budget=budget),
        lambda: dps.choose([1, 900], epsilon="1/4", budget=budget),
        lambda: by_names(votes(budget)).union(epsilon="1/8", max_items_per_user=2),
    ):
        charged.append(asked().charged)
        assert budget.left == pytest.approx(room((4, Fraction(3, 10**6)), charged), abs=2e-6)
        assert charged[-1].numbers["left"] == budget.left
    assert [float(one.numbers["epsilon"]) for one in charged[1:]] == [1, 0.5, 0.25, 0.125]
    assert charged[0].numbers["delta"] == charged[4].numbers["delta"] == Fraction(3, 10**9)  # a thousandth


def test_many_small_questions_cost_less_than_their_sum():
    """Adding up pays 10 of them."""
    budget, asked, charged = dps.Budget(epsilon=1), 0, []
    query = plan_of("choose", domain=["ant", "bee"], epsilon="1/10")
    many = budget.left_for(query)
    while budget.left_for(query):
        charged.append(drawn(SeededDraws(1), lambda: votes(budget).ask(query)).charged)
        asked += 1
        assert budget.left_for(query) == many - asked == charged[-1].numbers["questions_left"]
    with pytest.raises(
        dps.BudgetError,
        match=r"^the question must reserve up to .* % of the budget while it runs, but only .* % is left",
    ):
        votes(budget).ask(query)
    assert asked == many > 15
    assert 0 <= room((1, Fraction(1, 10**6)), charged) < float(1 - room((1, Fraction(1, 10**6)), charged[:1]))


def test_a_budget_without_delta_adds_up():
    budget = dps.Budget(epsilon=1, delta=0)
    for left in ("3/4", "1/2", "1/4", 0):
        assert dps.choose([1, 900], epsilon="1/4", budget=budget).charged.numbers["left"] == Fraction(left)
    with pytest.raises(dps.BudgetError, match="but only 0 % is left"):
        dps.choose([1, 900], epsilon="1/4", budget=budget)


def test_what_does_not_fit_is_refused_before_a_row_is_read(monkeypatch):
    budget = dps.Budget(epsilon=1, delta="1e-6")
    votes(budget).choose(domain=["ant"], epsilon="3/4")
    monkeypatch.setattr(
        "dpselect.engines.duckdb.engine.DuckDBEngine.top", None
    )  # whoever asked for rows now would fail otherwise
    with pytest.raises(
        dps.BudgetError,
        match=r"^the question must reserve up to 50 % of the budget while it runs, but only 25 % is left",
    ):
        votes(budget).top_k(1, epsilon="1/2")
    with pytest.raises(dps.BudgetError, match=r"needs a delta of .*, and the budget has 5e-07 left for that"):
        votes(budget).top_k(1, epsilon="1/8", delta="1e-6")
    with pytest.raises(dps.BudgetError, match=r"and the budget has 0 left for that\n"):
        votes(dps.Budget(epsilon=1, delta=0)).top_k(1, epsilon="1/8")
    assert budget.left == 0.25


def test_invalid_parameters_cost_nothing():
    budget = dps.Budget(epsilon=1)
    with pytest.raises(dps.ParameterError):
        votes(budget).choose(domain=["ant"], epsilon="1/2", method="best")
    with pytest.raises(dps.ParameterError, match="neighbors must be add-remove if a budget pays"):
        dps.choose([1, 2], epsilon="1/2", neighbors="replace-one", budget=budget)
    assert budget.left == 1


def test_the_same_question_of_the_same_file_is_free(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["user,item", *(f"{u},ant" for u in range(500))]))
    budget = dps.Budget(epsilon=1)
    first, again = (votes(budget, path).choose(domain=["ant", "bee"], epsilon="3/4") for _ in range(2))
    assert again.items == first.items
    assert (first.charged.numbers["repeated"], again.charged.numbers["repeated"]) == (False, True)
    assert budget.left == 0.25
    with pytest.raises(dps.BudgetError):
        by_names(votes(budget, path)).choose(domain=["ant", "bee"], epsilon="3/4", fresh=True)
    with pytest.raises(dps.BudgetError):  # of a frame nobody knows whether it is the same
        votes(budget).choose(domain=["ant", "bee"], epsilon="3/4")


@pytest.mark.parametrize("ending", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_question_that_dies_while_it_is_asked_stays_taken(ending):
    budget = Budget(epsilon=1, delta="1e-6")

    def dies():
        raise ending

    with pytest.raises(ending):
        budget.pay(Costing(HALF), Fingerprint("{}", repeatable=True), dies, fresh=False)
    assert budget.left == 0.5
    assert budget.left_for(Costing(HALF)) == 1


def test_an_interruption_at_any_line_charges_nothing_the_ceiling_or_the_answer():
    found, price = choice(), Costing(HALF, ApproxDP(Fraction(1, 4), Fraction(0)))
    paid = price, Fingerprint("{}", repeatable=False), lambda: found
    for line in itertools.count(1):
        budget = Budget(epsilon=1, delta="1e-6")
        ended = interrupted_at(line, lambda budget=budget: budget.pay(*paid, fresh=False), "ledger", "accounting")
        assert budget.left in (1, 0.5, 0.75), line
        if ended:
            break
    assert line > 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_was_forked_while_another_thread_paid_can_read_what_is_left():
    """It has a copy of the lock, which nobody will ever open."""
    budget = Budget(epsilon=1, delta="1e-6")
    with budget._account._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if budget.left_for(Costing(HALF)) == 2 and budget.left == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_never_spend_more_than_there_is():
    """Eight threads ask for half each, all of them at work at once: two fit."""
    budget, gate, said = Budget(epsilon=1, delta=0), threading.Barrier(8), []

    def ask():
        gate.wait()
        try:
            release = by_names(votes(budget)).choose(domain=["ant"], epsilon="1/2", draws=SeededDraws(1))
            said.append(release.labels)
        except dps.BudgetError:
            said.append("refused")

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(map(str, said)) == ["['ant']"] * 2 + ["refused"] * 6
    assert budget.left == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_can_spend_nothing():
    budget = Budget(epsilon=1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            dps.choose([1, 900], epsilon="1/2", budget=budget)
        except dps.BudgetError:
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert budget.left == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_that_is_forked_while_a_question_is_asked_gets_no_answer():
    """Both would draw, and two different answers would come out for one price."""
    budget, children, status = Budget(epsilon=1, delta="1e-6"), [], 1

    def forks():
        children.append(os.fork())
        return choice()

    try:
        budget.pay(Costing(HALF), Fingerprint("{}", repeatable=False), forks, fresh=False)
    except dps.BudgetError:
        status = 0
    finally:
        if children == [0]:
            os._exit(status)
    assert status == 1
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 0


@pytest.mark.unjudged  # it is altered
def test_whoever_alters_a_release_alters_no_stored_answer(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["user,item", *(f"{u},ant" for u in range(500))]))
    asked = votes(Budget(epsilon=1), path)
    for _ in range(2):
        found = asked.choose(domain=["ant", "bee"], epsilon=1)
        assert found.privacy.parameters == {"k": 1}
        found.privacy.parameters["k"] = 99


@pytest.mark.parametrize("copied", [pickle.dumps, copy.deepcopy])
def test_a_data_set_whose_budget_could_be_spent_twice_is_not_copied(copied):
    with pytest.raises(dps.BudgetError, match=r"^a Budget cannot be copied or pickled: it could be spent twice"):
        copied(votes(Budget(epsilon=1)))


def test_a_path_is_this_users_account(tmp_path, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    path = tmp_path / "budget.sqlite"
    with dps.Ledger.create(path) as ledger:
        ledger.data("default", 1, 0)
        ledger.grant(dps.Account("default", "ada"), 1, 0)
    found = votes(path).choose(domain=["ant"], epsilon="1/4")
    assert found.charged.numbers["analyst"] == "ada"
    assert dps.Budget.open(path).left == 0.75


def test_a_sum_of_odd_prices_can_be_written_down_and_is_never_too_small():
    budget, spent = Budget(epsilon=1, delta=0), Fraction(0)
    for odd in range(1, 13, 2):
        price = Fraction(1, 10) + Fraction(1, 10**990 + odd)
        found = dps.choose([1, 900], epsilon=price, budget=budget)
        spent += price
        assert dps.Release.from_json(found.to_json()).charged == found.charged
        assert 1 - spent - Fraction(2, 10**6) <= Fraction(budget.left) <= 1 - spent
    budget = Budget(epsilon=1, delta=0)
    for _ in range(3):
        dps.choose([1, 900], epsilon="1/3", budget=budget)
    assert budget.left == 0


@pytest.mark.parametrize("tiny", [Fraction(1, 10**12), Fraction(1, 10**40), Fraction(1, 10**90)])
def test_a_sum_of_odd_prices_is_rounded_to_its_own_size(tiny):
    """A grid for all sizes would take everything of a tiny budget at once."""
    budget, question = Budget(epsilon=tiny, delta=tiny), Fingerprint("{}", repeatable=False)
    for odd in range(1, 9, 2):
        part = Fraction(1, 10) + Fraction(1, 10**900 + odd)
        budget.pay(Costing(ApproxDP(tiny * part, tiny * part / 2)), question, choice, fresh=True)
    assert budget.left == pytest.approx(0.6, abs=2e-6)
    with pytest.raises(dps.BudgetError, match=r"but only 59\.99 % is left"):
        budget.pay(Costing(ApproxDP(tiny * Fraction(7, 10), Fraction(0))), question, choice, fresh=True)


def test_what_is_refused_costs_more_than_is_left():
    """Many small questions fill one sum, and a large one the other: neither of them has room for all."""
    budget = dps.Budget(epsilon=1, delta="1e-6")
    for _ in range(12):
        votes(budget).choose(domain=["ant", "bee"], epsilon="1/20")
    large = plan_of("choose", domain=["ant", "bee"], epsilon="7/10")
    assert budget.left > 0.8
    assert budget.left_for(large) == 0
    with pytest.raises(dps.BudgetError) as found:
        votes(budget).ask(large)
    cost, left = (float(part.split()[-1]) for part in str(found.value).split(" %")[:2])
    assert cost > left > 80


@pytest.mark.parametrize("made", ["in memory", "in a ledger"])
def test_nobody_is_told_how_many_questions_fit_that_no_budget_pays(made, tmp_path):
    with dps.Ledger.create(tmp_path / "budget.sqlite") as ledger:
        grant(ledger, dps.Account("default", "ada"), 1, 0)
    budget = {
        "in memory": lambda: dps.Budget(epsilon=1),
        "in a ledger": lambda: dps.Budget.open(tmp_path / "budget.sqlite", analyst="ada"),
    }[made]()
    assert budget.left_for(plan_of("choose", domain=["ant", "bee"], epsilon="1/10")) > 0
    replaced = plan_question(Scores(neighbors="replace-one"), Payment(epsilon="1/10"), NO_FACTS)
    with pytest.raises(dps.ParameterError, match="neighbors must be add-remove if a budget pays"):
        budget.left_for(replaced)


def test_a_delta_that_is_left_out_is_a_thousandth_also_in_what_a_question_is_known_by(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(["user,item", *(f"{u},ant" for u in range(500))]))
    asked = votes(dps.Budget(epsilon=1, delta="1e-6"), path)
    first = asked.top_k(1, epsilon="1/10")
    for delta, repeated in ((None, True), ("1e-9", True), ("1e-10", False)):
        again = asked.top_k(1, epsilon="1/10", delta=delta)
        assert again.charged.numbers["repeated"] is repeated
        assert (again.privacy == first.privacy) is repeated


@pytest.mark.parametrize("method", ["auto", "set"])
def test_a_top_k_of_a_known_domain_needs_no_delta_of_a_budget(method):
    for budget in (dps.Budget(epsilon=1), dps.Budget(epsilon=1, delta="1e-6")):
        found = by_names(votes(budget)).top_k(1, domain=["ant", "bee"], epsilon="1/2", method=method)
        assert found.privacy.delta == 0
        assert found.charged.numbers["delta"] == 0


@pytest.mark.parametrize(
    ("verb", "query"),
    [
        ("top_k", {"k": 10, "epsilon": "1/10"}),
        ("top_k", {"k": 3, "within": 900}),
        ("union", {"epsilon": "1/10", "max_items_per_user": 1}),
        ("choose", {"epsilon": "1/10", "domain": ["ant", "bee"], "by": "other"}),
    ],
)
def test_a_query_that_was_made_beforehand_is_asked_as_the_verb_asks_it(verb, query):
    beforehand, by_verb = dps.Budget(epsilon=1), dps.Budget(epsilon=1)
    rows, most = {**ROWS, "other": ROWS["item"]}, query.get("max_items_per_user")
    question, price = noun_of(verb, {name: value for name, value in query.items() if name != "max_items_per_user"})
    data = votes(beforehand, rows, max_items_per_user=most)
    made = data.plan(question, **price)
    fits = beforehand.left_for(made)
    asked = data.ask(made)
    found = votes(by_verb, rows, max_items_per_user=most).ask(question, **price)
    assert asked.privacy == found.privacy
    assert asked.charged.numbers["delta"] == found.charged.numbers["delta"] == Fraction(1, 10**9)
    assert fits > 1
    assert beforehand.left_for(made) == found.charged.numbers["questions_left"]
    with pytest.raises(dps.BudgetError, match=r"needs a delta of 0\.01, and the budget has"):
        votes(beforehand, rows).ask(dps.Plan.from_dict({"verb": "top_k", "epsilon": "1/10", "delta": "0.01"}))


def test_a_budget_pays_for_a_first_question_that_names_all_of_its_delta():
    budget, query = dps.Budget(epsilon=1, delta="1e-6"), {"verb": "top_k", "k": 1, "epsilon": "1/10", "delta": "1e-6"}
    assert budget.left_for(dps.Plan.from_dict(query)) == 1
    assert budget.share_of(dps.Plan.from_dict(query)) == 1
    assert votes(budget).top_k(1, epsilon="1/10", delta="1e-6").labels == ["ant"]
    with pytest.raises(dps.BudgetError, match=r"and the budget has 0 left for that\n"):
        votes(budget).top_k(1, epsilon="1/10")
    assert budget.left == 0


def changes(kind):
    """Whether a later question changes what is set apart: while the first one is open, and after its answer."""
    budget, found = Budget(epsilon=1, delta="1e-6"), []
    budget._account = kind(Fraction(1), Fraction(1, 10**6))
    first = Costing(ApproxDP(Fraction(1, 10), Fraction(1, 10**9)), ApproxDP(Fraction(1, 20), Fraction(0)))
    with pytest.raises(dps.BudgetError):  # it reads no row and settles nothing
        budget.pay(
            Costing(ApproxDP(Fraction(2), Fraction(9, 10**7))), Fingerprint("{}", repeatable=False), None, fresh=True
        )

    def later():
        before = budget._account.promise
        with contextlib.suppress(dps.BudgetError):
            large = Costing(ApproxDP(Fraction(1, 10), Fraction(6, 10**7)))
            budget.pay(large, Fingerprint("{}", repeatable=False), choice, fresh=True)
        found.append(budget._account.promise != before)
        return choice()

    budget.pay(first, Fingerprint("{}", repeatable=False), later, fresh=True)
    later()
    return found


class AfterAnOutcome(MemoryAccount):
    """Settles what is set apart with its last question."""

    def promise_for(self, asked):
        self._is_promise_settled = self.taken.settled == Taken().settled != self.taken.pending
        return super().promise_for(asked)


class PendingIgnored(MemoryAccount):
    """Settles what is set apart when a first answer is there: questions still open do not count."""

    def promise_for(self, asked):
        self._is_promise_settled = self.taken.settled != Taken().settled
        return super().promise_for(asked)


def test_what_is_set_apart_is_settled_by_the_first_question_before_its_rows_are_read():
    assert changes(MemoryAccount) == [False, False]
    assert changes(AfterAnOutcome) == [False, True]
    assert changes(PendingIgnored)[0]


def test_a_person_reads_what_is_left():
    budget = dps.Budget(epsilon=1, delta="1e-6")
    assert repr(budget) == "Budget(epsilon=1, delta=1e-06, 100 % left)"
    price = Costing(ApproxDP(Fraction(1, 3), Fraction(1, 10**9)), ApproxDP(Fraction(1, 4), Fraction(0)))
    found = budget.pay(price, Fingerprint("{}", repeatable=False), choice, fresh=True)
    assert found.charged.sentence == "25 % of the budget (epsilon 0.3334); 75 % left; at least 2 more like it fit now"
    assert repr(budget) == "Budget(epsilon=1, delta=1e-06, 75 % left)"


def choice():
    return dps.choose([1, 900], epsilon=1)


def test_a_place_too_long_for_a_message_is_refused():
    with pytest.raises(
        dps.ParameterError, match="budget must be a path or address of at most 1000 characters"
    ) as found:
        dps.Budget.open("x" * 3000, analyst="ann")
    assert len(str(found.value)) < 300


def test_a_short_answer_gives_back_the_picks_it_did_not_make_and_no_delta():
    budget = dps.Budget(epsilon=1, delta="1e-6")
    found = votes(budget, {"user": [1, 2], "item": ["x", "y"]}).top_k(10, epsilon=1)
    assert len(found) == 0
    pick = found.privacy.parameters["epsilon_per_pick"]  # bottom alone was picked
    assert 0 < pick < Fraction(1, 2)
    assert found.charged.numbers["epsilon"] == pick
    assert found.charged.numbers["delta"] <= Fraction(1, 10**9)


@pytest.mark.parametrize("asked", [5, None, {"verb": "choose"}, "choose", dps.Dataset], ids=repr)
def test_what_is_no_question_has_no_price(asked, tmp_path):
    path = tmp_path / "budget.sqlite"
    with dps.Ledger.create(path) as ledger:
        grant(ledger, dps.Account("default", "ann"), 1, 0)
    for budget in (Budget(epsilon=1), dps.Budget.open(path, analyst="ann")):
        with pytest.raises(dps.ParameterError, match=r"^plan must be a Plan"):
            budget.left_for(asked)


def test_as_many_questions_fit_as_are_told_also_where_nothing_comes_back(tmp_path):
    """Of as many that cost their ceiling 627 fit, and of those that find nothing 500: each takes all of its delta."""
    with dps.Ledger.create(tmp_path / "budget.sqlite") as ledger:
        ledger.data("default", epsilon=3, delta="1e-6")
        ledger.grant(dps.Account("default", "ada"), epsilon=3, delta="5e-7")
        query = dps.Plan.from_dict({"verb": "top_k", "k": 10, "epsilon": "1/100", "delta": "1e-9"})
        assert dps.Budget(epsilon=3, delta="1e-6").left_for(query) == 500
        assert dps.Budget.open(ledger, analyst="ada").left_for(query) == 500


@pytest.mark.parametrize("snapshot", [None, "today"])
def test_an_answer_about_files_that_changed_while_they_were_opened_is_not_kept(tmp_path, monkeypatch, snapshot):
    """Which files are read is found when they are opened; a file that comes next belongs to other data."""
    pq.write_table(pa.table({"user": range(300), "item": ["old"] * 300}), tmp_path / "1.parquet")
    budget = dps.Budget(epsilon=10_000, delta="0.1")
    budget.snapshot = snapshot
    data = dps.Dataset(tmp_path, user="user", item="item", budget=budget)
    opened = AskedRows._open_for

    def late(self, plan):
        engine = opened(self, plan)
        if not (tmp_path / "2.parquet").exists():
            pq.write_table(pa.table({"user": range(1000, 2000), "item": ["new"] * 1000}), tmp_path / "2.parquet")
        return engine

    monkeypatch.setattr(AskedRows, "_open_for", late)
    told = [data.top_k(1, epsilon=100) for _ in range(3)]
    assert [release.labels for release in told] == [["old"], ["new"], ["new"]]
    assert [release.to_dict()["charged"]["repeated"] for release in told] == [False, False, True]
