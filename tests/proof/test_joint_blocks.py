"""All classes jointly, in blocks: sums against exact arithmetic, and no claim false from any rule."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dualgap.losses import Logistic
from dualgap.proof.blocks import Weighed, judged
from dualgap.proof.joint_blocks import JointStreamStatement
from exact.arithmetic import as_real, rational, real
from exact.optimum import optimum
from exact.statement import Statement as Exact
from proof.made import FEW, LEAST, U, close, gamma
from proof.test_joint import joint, parts, primal

CLASSES = 3


def drawn(seed: int) -> tuple[JointStreamStatement, Exact, Any, Any, Any]:
    """Six rows, weighted or not; a column without a price, no price at all, or all of them."""
    rng = np.random.default_rng(seed)
    X, own = rng.normal(size=(6, 2)), np.array([0, 1, 2, 0, 1, int(rng.integers(3))])
    s = rng.uniform(0.2, 3.0, 6) if seed % 2 else np.ones(6)
    penalty = ("l2", "l1", "elastic_net(0.5)", "none")[seed % 4]
    asked: dict[str, Any] = {"intercept": bool(seed % 3), "s": s}
    if penalty != "none":
        asked["lam"] = float(10.0 ** rng.uniform(-2, 0))
    if penalty in ("l1", "l2") and seed % 5 == 0:
        asked["factors"] = [0.0, 1.0]
    problem, exact = joint(X, own, CLASSES, penalty, **asked)
    statement = JointStreamStatement.of_classes(
        Logistic(), problem.regulariser, CLASSES, intercept=problem.intercept
    )
    return statement, exact, X, own.astype(float), s


def weighed(
    statement: Any, X: Any, own: Any, s: Any, w: Any, shares: Any, cuts: list[int], **how: Any
) -> Weighed:
    weight = None if np.all(s == 1.0) else s
    found = []
    for a, b in zip([0, *cuts], [*cuts, 6], strict=True):
        some = None if weight is None else weight[a:b]
        found.append(
            statement.weigh(X[a:b], own[a:b], some, w, None if shares is None else shares[a:b], **how)
        )
    total = found[0]
    for one in found[1:]:
        total = total.plus(one)
    return total


def shares_at(exact: Exact, X: Any, w: Any) -> Any:
    table = np.reshape(w, (CLASSES, -1))
    z = X @ table[:, :2].T + (table[:, 2] if exact.intercept else 0.0)
    model = np.exp(z - z.max(axis=1, keepdims=True))
    return model / model.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("exactly", [False, True])
def test_sums_are_off_by_what_is_said(seed: int, exactly: bool) -> None:
    """Losses, divergences and pulls of all groups together, to sixty digits."""
    statement, exact, X, own, s = drawn(seed)
    rng, rows = np.random.default_rng(seed + 50), np.arange(6)
    w = rng.normal(size=CLASSES * (2 + exact.intercept))
    shares = rng.dirichlet(np.ones(CLASSES), 6) * rng.uniform(0.5, 1.0)
    found = weighed(statement, X, own, s, w, shares, [4], exact=exactly)
    none = weighed(statement, X, own, s, w, None, [4], exact=exactly)
    mine = own.astype(int)
    flat, levels = parts(exact, w)
    table = [flat[2 * k : 2 * k + 2] for k in range(CLASSES)]
    risk = paid = real.mpf(0)
    pull = [[Fraction(0)] * 3 for _ in range(CLASSES)]
    size = Fraction(0)
    for i in rows:
        z = [
            sum(rational(x) * v for x, v in zip(X[i], line, strict=True)) + level
            for line, level in zip(table, levels, strict=True)
        ]
        z = [as_real(v - z[mine[i]]) for v in z]
        weight = rational(s[i])
        loss = real.log(sum(real.exp(v) for v in z))
        phi = [rational(v) * int(k != mine[i]) for k, v in enumerate(shares[i])]
        phi[mine[i]] = 1 - sum(phi)
        short = sum(as_real(p) * (real.log(as_real(p)) - v) for p, v in zip(phi, z, strict=True)) + loss
        risk, paid = risk + as_real(weight) * loss, paid + as_real(weight) * short
        for k in range(CLASSES):
            u = phi[k] if k != mine[i] else phi[k] - 1
            size += weight * abs(u)
            for j, x in enumerate([*map(rational, X[i]), Fraction(1)]):
                pull[k][j] += weight * u * x
    for one, terms in ((found, paid), (none, risk)):
        assert abs(risk - as_real(rational(one.risk.value.sum()))) <= as_real(
            rational(one.risk.error.sum() * (1 + 1e-9) + one.spread)
        )
        room = one.terms.error.sum() * (1 + 1e-9) + (one.apart if one is found else one.spread)
        assert abs(terms - as_real(rational(one.terms.value.sum()))) <= as_real(rational(room))
        assert one.rows == 6 and one.least == s.min()
        assert one.tops.tolist() == np.abs(X).max(axis=0).tolist()
        assert abs(Fraction(float(one.weight.value)) - sum(map(rational, s))) <= Fraction(
            float(one.weight.error)
        )
    width = 2 + exact.intercept
    value, error = found.pull.value.sum(axis=1), found.pull.error.sum(axis=1)
    assert value.shape == (CLASSES * width,)
    for k in range(CLASSES):
        for j in range(width):
            at = k * width + j
            assert abs(pull[k][j] - rational(value[at])) <= rational(
                error[at] * (1.0 + 1e-9) + 30 * U * float(np.abs(value[at]))
            )
    assert not none.pull.value.any() and none.size == 0.0
    assert found.size == close(float(size), rel=1e-12)
    most = 1e-11 * (1.0 + float(size)) * (1.0 + np.abs(X).max()) * (1.0 + np.abs(w).sum())
    assert (
        max(found.risk.error.max(), found.terms.error.max(), error.max(), found.spread, found.apart) <= most
    )


def test_charges_of_one_row_by_hand() -> None:
    """Whole numbers, so that nothing is rounded but what is charged for it."""
    X, own = np.array([[1.0, 2.0]]), np.array([1.0])
    problem, _ = joint(X, [1], CLASSES, "l2", lam=0.5, intercept=False)
    statement = JointStreamStatement.of_classes(Logistic(), problem.regulariser, CLASSES, intercept=False)
    w, shares = np.zeros(6), np.array([[0.25, 0.0, 0.5]])
    for weight in (None, np.array([4.0])):
        found = statement.weigh(X, own, weight, w, shares)
        heavy = 1.0 if weight is None else 4.0
        under = 8.0 * LEAST * (3 + 6)
        loss, short = np.log(3.0), 0.25 * np.log(0.75) + 0.5 * np.log(1.5) + 0.25 * np.log(0.75)
        assert found.weight.value == heavy and found.weight.error == (0.0 if weight is None else FEW * heavy)
        assert found.risk.error == close(FEW * heavy * loss + under, rel=1e-9)
        assert found.terms.error == close(FEW * heavy * (short + loss) + under, rel=1e-9)
        assert (
            found.pull.value.tolist()
            == (heavy * np.array([[0.25], [0.5], [-0.75], [-1.5], [0.5], [1.0]])).tolist()
        )
        assert found.size == close(1.5 * heavy, rel=1e-12) and found.size >= 1.5 * heavy
        slips = gamma(CLASSES + 2) + (0.0 if weight is None else 2.0 * U)
        sizes = heavy * np.repeat([0.25, 0.75, 0.5], 2) * np.tile([1.0, 2.0], 3)
        assert np.all(found.pull.error[:, 0] >= slips * sizes)
        assert np.all(found.pull.error[:, 0] <= (slips + 3.0 * U) * sizes * 1.001)


@pytest.mark.parametrize("seed", range(24))
def test_no_claim_is_false(seed: int) -> None:
    statement, exact, X, own, s = drawn(seed)
    rng = np.random.default_rng(seed + 90)
    best = optimum(exact, [parts(exact, np.zeros(CLASSES * (2 + exact.intercept)))])
    table = [[*best.w[2 * k : 2 * k + 2], *([best.b[k]] if exact.intercept else [])] for k in range(CLASSES)]
    w = np.array([float(v) for row in table for v in row])
    better = [w, 0.0 * w, *(w + 10.0 ** -float(k) * rng.normal(size=len(w)) for k in range(1, 6))]
    for draw in range(5):
        at = w if draw < 3 else w + 0.1 * rng.normal(size=len(w))
        shares = shares_at(exact, X, at)
        if draw in (1, 4):
            shares = shares * (1.0 + rng.normal(size=shares.shape))
        if draw == 2:
            shares[0], shares[1, 0] = np.nan, np.inf
        found = judged(
            statement,
            weighed(statement, X, own, s, at, shares, [int(rng.integers(1, 6))], exact=draw == 3),
            at,
            1e-3,
            1.0,
        )
        assert found.primal >= primal(exact, at) and found.dual <= found.primal
        for other in better:
            if found.box is None or np.all(np.abs(other) <= found.box):
                assert as_real(rational(found.dual)) <= primal(exact, other)
        if draw == 0 and not statement.free.any():
            assert found.gap <= 1e-6 * found.primal
