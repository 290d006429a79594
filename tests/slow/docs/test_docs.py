"""Documentation is run: every Python block and docstring example, every command, every link between pages."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

import dpselect
from dpselect import mechanisms, papers
from dpselect.command.parser import build_parser
from tests.conftest import ROOT
from tests.papers.named import named

PAGES = sorted([*ROOT.glob("*.md"), ROOT / "benchmarks" / "README.md", *(ROOT / "docs").rglob("*.md")])
MODULES = sorted(m.name for m in pkgutil.walk_packages(dpselect.__path__, "dpselect.") if "__main__" not in m.name)
MECHANISMS = [name for name in mechanisms.__all__ if name not in ("Mechanism", "SetUnion")]
MECHANISMS += [name for name in papers.__all__ if name[0].isupper() and name != "Noise"]
GATEWAY = "http://127.0.0.1:8080"  # what pages call the gateway that they ask
SECTIONS = ["Guarantee:", "Neighbors:", "Sensitivity:", "Exactness:", "Cost:", "Source:", "Example:"]


@contextmanager
def gateway_for(blocks: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a gateway with the demonstration's data, where some block asks one."""
    if not any(GATEWAY in block for block in blocks):
        yield GATEWAY
        return
    from tests.gateway.processes import demonstration

    with demonstration(folder / "demo") as served:
        monkeypatch.setenv("DPSELECT_TOKEN", served.tokens["analyst"])
        yield served.url


def relative(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", sorted({*PAGES} - {ROOT / "README.md"}), ids=relative)  # which has its own test
def test_python_blocks_run(page, tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    with gateway_for(blocks, tmp_path, monkeypatch) as url:
        for block in blocks:
            exec(compile(block.replace(GATEWAY, url), relative(page), "exec"), namespace)
        if "remote" in namespace:
            namespace["remote"].close()


def test_docstring_examples_run():
    said: list[str] = []
    runner, finder = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), doctest.DocTestFinder()
    for module in MODULES:
        for example in finder.find(importlib.import_module(module)):
            runner.run(example, out=said.append)
    assert runner.tries > 30
    assert runner.failures == 0, "".join(said)


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{relative(page)} links to {target}"


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_states_everything_and_has_a_page(name):
    doc = named(name).__doc__
    places = [doc.find(section) for section in SECTIONS]
    assert -1 not in places, f"{name} lacks {SECTIONS[places.index(-1)]}"
    assert places == sorted(places)
    pages = " ".join(p.read_text() for p in (ROOT / "docs" / "mechanisms").glob("*.md"))
    assert f"`{name}`" in pages


EXAMPLES = {
    "ExponentialMechanism": {"epsilon": 2},
    "PermuteAndFlip": {"epsilon": 2},
    "ReportNoisyMax": {"epsilon": 2},
    "NoisyHistogram": {"epsilon": 2},
    "Peeling": {"k": 3, "epsilon": 2, "delta": "1e-6"},
    "HistogramLaplace": {"epsilon": 2, "max_items_per_user": 3},
    "HistogramGaussian": {"epsilon": 2, "delta": "1e-6", "max_items_per_user": 3},
    "HistogramSharedLaplace": {"epsilon": 2, "items": 5, "max_items_per_user": 5},
    "HistogramSharedGaussian": {"epsilon": 2, "delta": "1e-6", "items": 5, "max_items_per_user": 5},
    "LimitedDomainByGroup": {"k": 3, "max_groups_per_user": 2, "epsilon": 2, "delta": "1e-6"},
    "LimitedDomain": {"k": 3, "epsilon": 2, "delta": "1e-6"},
    "ChosenKBar": {"k": 3, "epsilon": 2, "delta": "1e-6"},
    "JointSet": {"k": 3, "epsilon": 2},
    "JointSequence": {"k": 3, "epsilon": 2},
    "CanonicalSet": {"k": 3, "epsilon": 2},
    "Quantile": {"bounds": (0, 1), "epsilon": 2, "delta": "1e-6"},
    "RecursiveQuantiles": {"q": (0.25, 0.5, 0.75), "bounds": (0, 1), "epsilon": 2, "delta": "1e-6"},
    "CertifiedQuantiles": {"q": (0.25, 0.5, 0.75), "bounds": (0, 1), "epsilon": 2, "delta": "1e-6"},
    "QuantileByGroup": {"bounds": (0, 1), "max_groups_per_user": 2, "epsilon": 2, "delta": "1e-6"},
    "ChoiceByGroup": {"max_groups_per_user": 2, "epsilon": 2, "delta": "1e-6"},
    "OneShotLaplace": {"k": 3, "epsilon": 2},
    "ApproxOneShotLaplace": {"k": 3, "epsilon": "0.1", "delta": "1e-6"},
    "LimitedDomainLaplace": {"k": 3, "epsilon": 2, "delta": "1e-6", "max_items_per_user": 2},
    "LimitedDomainSparse": {"k": 3, "epsilon": 2, "delta": "1e-6"},
    "GammaMechanism": {"k": 3, "epsilon": 2},
    "NoisyCounts": {"k": 3, "epsilon_per_count": 1},
    **{
        name: {"epsilon": 2, "delta": "1e-6", "max_items_per_user": 3}
        for name in """CountLaplace CountGaussian WeightedLaplace WeightedGaussian PolicyLaplace PolicyGaussian
        RenyiShaped GreedyGeometric""".split()
    },
    "TruncatedGeometric": {"epsilon": 2, "delta": "1e-6"},
    "DiscoverThenPeel": {"k": 3, "epsilon": 2, "delta": "1e-6", "max_items_per_user": 3},
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_guarantee_in_words_is_the_one_in_numbers(name):
    mechanism = named(name)(**EXAMPLES[name])
    words = re.search(r"Guarantee: (\S+?)[-,; ]", named(name).__doc__).group(1)
    if words == "epsilon":
        assert mechanism.privacy.epsilon == Fraction(2)
        assert mechanism.privacy.delta == 0
    else:
        assert words == "(epsilon"
        assert mechanism.privacy.epsilon <= 3
        assert 0 <= mechanism.privacy.delta <= Fraction(1, 10**6)
    related = re.search(r"Neighbors: (.*?)\n", named(name).__doc__).group(1)
    assert str(mechanism.privacy.neighbors) in related


def test_every_command_is_documented():
    page = (ROOT / "docs" / "command.md").read_text()
    assert [name for name in build_parser().commands() if f"`dpselect {name}" not in page] == []
