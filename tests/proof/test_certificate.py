"""The proof that a user holds: rechecked, it says what is true of the rows given, whatever it held before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.arrays import Vector
from dualgap.proof.certificate import Certificate, narrowest
from dualgap.proof.check import Checked
from exact.arithmetic import as_real, rational
from exact.statement import read, stated


@dataclass
class Said:
    """A task whose verdict is given; what it is asked is kept."""

    verdict: Checked
    asked: list[Any] = field(default_factory=list)

    def judged(self, w: Vector, theta: Any) -> Checked:
        self.asked.append((w, theta))
        return self.verdict


@dataclass
class Asked:
    """Terms that state such tasks."""

    said: Sequence[Said]
    fit_intercept: bool
    rows: list[Any] = field(default_factory=list)

    def tasks(self, certificate: Certificate, X: Any, y: Any) -> Sequence[Said]:
        self.rows.append((certificate, X, y))
        return self.said


def verdict(primal: float, dual: float, box: Any = None, moved: bool = False) -> Checked:
    nothing = np.zeros(0)
    return Checked(nothing, nothing, primal, dual, 0.0, nothing, nothing, box, moved=moved)


def held(terms: Any, **changes: Any) -> Certificate:
    certificate = Certificate(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 5.0, -1.0, 99.0, terms)
    return replace(certificate, **changes)


@pytest.mark.parametrize("intercept", [False, True])
def test_one_problem_is_judged_at_its_points(intercept: bool) -> None:
    terms = Asked([Said(verdict(2.0, 1.5))], intercept)
    before = held(terms)
    after = before.recheck("X", "y")
    assert (after.objective, after.bound, after.gap, after.box) == (2.0, 1.5, 0.5, None)
    assert terms.rows == [(before, "X", "y")] and before.objective == -1.0
    ((w, theta),) = terms.said[0].asked
    assert w.tolist() == ([3.0, 4.0, 5.0] if intercept else [3.0, 4.0]) and theta is before.theta
    assert after.theta is before.theta and after.coef is before.coef and after.beta is before.coef


@pytest.mark.parametrize("intercept", [False, True])
def test_classes_against_the_rest_are_judged_one_by_one(intercept: bool) -> None:
    """Sums from above and from below, of each class at its own row of weights and its own column of θ."""
    third = 1.0 / 3.0
    said = [Said(verdict(1.0, third)), Said(verdict(third, third)), Said(verdict(third, 0.1))]
    terms = Asked(said, intercept)
    coef, level, theta = (
        np.arange(6.0).reshape(3, 2),
        np.array([7.0, 8.0, 9.0]),
        np.arange(12.0).reshape(4, 3),
    )
    after = held(terms, coef=coef, intercept=level, theta=theta, form="one_vs_rest").recheck(None, None)
    exact = [sum(rational(v) for v in part) for part in ((1.0, third, third), (third, third, 0.1))]
    assert exact[0] <= rational(after.objective) and rational(after.bound) <= exact[1]
    assert after.objective == pytest.approx(1.0 + 2.0 * third) and after.bound == pytest.approx(
        2.0 * third + 0.1
    )
    for k, one in enumerate(said):
        ((w, point),) = one.asked
        assert w.tolist() == [2.0 * k, 2.0 * k + 1.0, *([7.0 + k] if intercept else [])]
        assert np.array_equal(point, theta[:, k])


@pytest.mark.parametrize("intercept", [False, True])
def test_classes_at_once_are_judged_at_all_their_weights(intercept: bool) -> None:
    terms = Asked([Said(verdict(2.0, 1.5))], intercept)
    coef, theta = np.arange(6.0).reshape(3, 2), np.ones((4, 3))
    certificate = held(terms, coef=coef, intercept=np.array([7.0, 8.0, 9.0]), theta=theta, form="multinomial")
    assert certificate.recheck(None, None).bound == 1.5
    ((w, point),) = terms.said[0].asked
    assert w.tolist() == ([0.0, 1.0, 7.0, 2.0, 3.0, 8.0, 4.0, 5.0, 9.0] if intercept else list(range(6)))
    assert point is theta


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_theta_that_is_no_number_is_none(bad: float) -> None:
    terms = Asked([Said(verdict(2.0, 1.5))], False)
    theta = np.array([1.0, bad])
    after = held(terms, theta=theta).recheck(None, None)
    assert terms.said[0].asked[0][1].tolist() == [0.0, 0.0] and after.theta is theta
    several = Asked([Said(verdict(2.0, 1.5)), Said(verdict(2.0, 1.5))], False)
    table = np.array([[1.0, bad], [2.0, 3.0]])
    held(several, coef=np.ones((2, 2)), theta=table, form="one_vs_rest").recheck(None, None)
    assert [one.asked[0][1].tolist() for one in several.said] == [[1.0, 2.0], [0.0, 0.0]]


def test_a_search_has_no_theta() -> None:
    said = [Said(verdict(2.0, 1.5)), Said(verdict(1.0, 0.5))]
    run = SimpleNamespace(solver=SimpleNamespace(name="branches"))
    certificate = held(Asked(said, False), coef=np.ones((2, 2)), theta=None, form="one_vs_rest", search=run)
    assert certificate.recheck(None, None).bound == 2.0 and said[1].asked[0][1] is None
    assert repr(certificate) == "Certificate(objective -1, proven bound 99, by branches)"
    alone = held(Asked(said[:1], True), theta=None, search=run)
    assert alone.recheck(None, None).objective == 2.0


def test_multipliers_stand_behind_theta() -> None:
    """Of constraints, of each class those of its own; of outputs fitted jointly, output after output."""
    mu = np.array([0.5, -0.25])
    alone = Asked([Said(verdict(2.0, 1.5))], True)
    held(alone, multipliers=mu).recheck(None, None)
    assert alone.said[0].asked[0][1].tolist() == [1.0, 2.0, 0.5, -0.25]
    classes = Asked([Said(verdict(2.0, 1.5)), Said(verdict(1.0, 0.5))], False)
    coef, theta = np.ones((2, 2)), np.arange(6.0).reshape(3, 2)
    several = held(classes, coef=coef, theta=theta, form="one_vs_rest", multipliers=np.diag(mu))
    several.recheck(None, None)
    points = [one.asked[0][1].tolist() for one in classes.said]
    assert points == [[0.0, 2.0, 4.0, 0.5, 0.0], [1.0, 3.0, 5.0, 0.0, -0.25]]
    between = np.array([[0.5, 1.5], [-0.25, -1.25]])
    for one, expected in ((None, []), (between, [0.5, -0.25, 1.5, -1.25])):
        asked = Asked([Said(verdict(2.0, 1.5))], True)
        held(asked, coef=coef, intercept=mu, theta=theta, form="joint", multipliers=one).recheck(None, None)
        ((w, point),) = asked.said[0].asked
        assert w.tolist() == [1.0, 1.0, 0.5, 1.0, 1.0, -0.25]
        assert point.tolist() == [0.0, 2.0, 4.0, 1.0, 3.0, 5.0, *expected]


def test_a_rule_is_handed_on_as_it_is() -> None:
    """Rows that are elsewhere have no vector; of several classes each has a rule of its own."""
    rules = SimpleNamespace(name="one"), SimpleNamespace(name="other")
    alone = Asked([Said(verdict(2.0, 1.5))], False)
    held(alone, theta=rules[0]).recheck(None, None)
    assert alone.said[0].asked[0][1] is rules[0]
    classes = Asked([Said(verdict(2.0, 1.5)), Said(verdict(1.0, 0.5))], False)
    held(classes, coef=np.ones((2, 2)), theta=rules, form="one_vs_rest").recheck(None, None)
    assert [one.asked[0][1] for one in classes.said] == list(rules)


def test_the_worst_miss_of_a_constraint_is_told() -> None:
    said = [Said(replace(verdict(2.0, 1.5), violation=off)) for off in (0.0, 3e-9, 1e-9)]
    table = held(Asked(said, False), coef=np.ones((3, 2)), theta=np.ones((4, 3)), form="one_vs_rest")
    assert table.recheck(None, None).violation == 3e-9


def test_as_many_problems_as_points() -> None:
    with pytest.raises(ValueError, match="zip"):
        held(Asked([Said(verdict(1.0, 0.5))] * 2, False)).recheck(None, None)


def test_weights_that_break_a_budget_are_worth_nothing() -> None:
    terms = Asked([Said(verdict(2.0, 1.5, moved=True))], True)
    after = held(terms).recheck(None, None)
    assert after.objective == np.inf and after.bound == 1.5
    two = Asked([Said(verdict(2.0, 1.5)), Said(verdict(1.0, 0.5, moved=True))], False)
    after = held(two, coef=np.ones((2, 2)), theta=np.ones((3, 2)), form="one_vs_rest").recheck(None, None)
    assert after.objective == np.inf and after.bound == 2.0


def test_a_sum_of_bounds_holds_where_all_of_them_do() -> None:
    first, second = np.array([1.0, np.inf, 5.0]), np.array([2.0, 3.0, np.inf])
    assert narrowest([None, None]) is None and narrowest([]) is None
    assert narrowest([None, first]) is not None and np.array_equal(narrowest([None, first]), first)  # type: ignore[arg-type]
    both = narrowest([first, None, second])
    assert both is not None and both.tolist() == [1.0, 3.0, 5.0]
    said = [Said(verdict(2.0, 1.5, first)), Said(verdict(1.0, 0.5, second))]
    after = held(Asked(said, False), coef=np.ones((2, 2)), theta=np.ones((3, 2)), form="one_vs_rest").recheck(
        0, 0
    )
    assert after.box.tolist() == [1.0, 3.0, 5.0]
    assert "for weights in a box" in repr(after) and "θ for 3 rows" in repr(after)
    again = replace(after, terms=Asked([Said(verdict(2.0, 1.5)), Said(verdict(1.0, 0.5))], False)).recheck(
        0, 0
    )
    assert again.box is None and "box" not in repr(again)


def test_what_it_says_of_itself() -> None:
    certificate = held(None, objective=1.0 / 3.0, bound=0.25)
    assert repr(certificate) == "Certificate(objective 0.3333333333, proven bound 0.25, θ for 2 rows)"
    assert certificate.gap == 1.0 / 3.0 - 0.25
    assert (certificate.form, certificate.classes, certificate.tolerance) == ("single", None, 1e-6)
    assert certificate.search is None and certificate.box is None


def test_forged_weights_outside_a_budget() -> None:
    """A real fit whose weights are exchanged for better ones that the budget does not allow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = X @ [2.0, -1.0] + 0.1 * rng.normal(size=12)
    asked = {"loss": "squared", "penalty": "l1", "budget": 0.5}
    solution = dg.fit(X, y, **asked)
    honest = solution.certificate.recheck(X, y)
    assert honest.objective == solution.objective and honest.bound == solution.bound
    statement = read(X.tolist(), y.tolist(), asked)
    forged = replace(solution.certificate, coef=np.array([2.0, -1.0])).recheck(X, y)
    assert forged.objective == np.inf and not statement.within([rational(2.0), rational(-1.0)])
    inside = replace(solution.certificate, coef=np.array([0.25, -0.125])).recheck(X, y)
    truth = statement.value([rational(0.25), rational(-0.125)], rational(solution.intercept))
    assert stated(inside.objective) >= truth
    assert as_real(stated(inside.bound)) <= as_real(truth)
