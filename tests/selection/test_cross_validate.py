"""The search against fits made by hand, its folds, its scores, its choice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import make_scorer, max_error, r2_score, roc_auc_score
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

import dualgap as dg
from dualgap.errors import DataError, NotCertifiedWarning
from dualgap.fitting.names import loss_named
from dualgap.selection.search import best, mean_and_error, within_one_error
from path_instances import ordinary

# Losses with one best intercept: with others the scores may differ where the fits are equally good.
PAIRS = [
    ("squared", "l1"),
    ("squared", "l2"),
    ("huber(1.0)", "elastic_net(0.5)"),
    ("squared_hinge", "l2"),
    ("logistic", "l1"),
    ("logistic", "l2_norm"),
]


def _by_hand(X: Any, y: Any, folds: Any, strength: dict[str, Any], **how: Any) -> NDArray[np.float64]:
    """Mean loss on the rows held out, from one fit per fold and strength."""
    ((name, values),) = strength.items()
    loss, rows = loss_named(how["loss"]), []
    for train, test in folds:
        fits = [dg.fit(X[train], y[train], tol=1e-9, **{name: float(v)}, **how) for v in values]
        rows.append([loss.value(y[test].astype(float), f.decision_function(X[test])).mean() for f in fits])
    return np.array(rows)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize(("loss", "penalty"), PAIRS)
def test_every_fold_is_a_loop_of_fits(loss: str, penalty: str, standardize: bool) -> None:
    X, y = ordinary(loss, 60, 6, seed=1)
    X = X * np.array([1.0, 30.0, 1.0, 0.1, 1.0, 1.0])
    cv = KFold(3, shuffle=True, random_state=0)
    how: dict[str, Any] = {"loss": loss, "penalty": penalty, "standardize": standardize}
    search = dg.cross_validate(X, y, cv=cv, n_lams=5, tol=1e-9, **how)
    expected = _by_hand(X, y, cv.split(X), {"lam": search.lams}, **how)
    assert search.scores == pytest.approx(expected, rel=2e-4, abs=1e-6)
    assert np.all(search.worst_gaps <= 1e-8)
    assert search.mean == pytest.approx(expected.mean(axis=0), rel=2e-4)
    assert search.se == pytest.approx(expected.std(axis=0, ddof=1) / np.sqrt(3), rel=1e-2, abs=1e-6)


@pytest.mark.parametrize(("loss", "penalty"), [("squared", "l1"), ("logistic", "l2"), ("absolute", "linf")])
def test_budgets(loss: str, penalty: str) -> None:
    X, y = ordinary(loss, 60, 5, seed=2)
    cv = KFold(3)
    how: dict[str, Any] = {"loss": loss, "penalty": penalty}
    search = dg.cross_validate(X, y, cv=cv, form="constrained", n_lams=5, tol=1e-9, **how)
    assert np.all(np.diff(search.budgets) > 0.0)
    expected = _by_hand(X, y, cv.split(X), {"budget": search.budgets}, **how)
    assert search.scores == pytest.approx(expected, rel=2e-4, abs=1e-6)
    assert search.budget_1se <= search.budget_min
    assert search.solution.terms.budget == search.budget
    with pytest.raises(AttributeError, match="see budget_1se"):
        _ = search.lam_1se
    given_ones = dg.cross_validate(X, y, cv=cv, budgets=[0.5, 0.1, 0.5], **how)
    assert given_ones.budgets.tolist() == [0.1, 0.5]


def test_what_is_not_convex_is_searched_one_fit_at_a_time() -> None:
    X, y = ordinary("squared", 40, 5, seed=3)
    search = dg.cross_validate(X, y, loss="squared", penalty="l0", budgets=[0, 1, 2, 5], cv=3)
    assert search.n_nonzero.tolist() == [[0, 1, 2, 5]] * 3
    assert search.solution.n_nonzero == search.budget
    with pytest.raises(DataError, match="budgets="):
        dg.cross_validate(X, y, loss="squared", penalty="l0")


@pytest.mark.parametrize(("loss", "multiclass"), [("logistic", "multinomial"), ("hinge", "one_vs_rest")])
def test_more_than_two_classes(loss: str, multiclass: str) -> None:
    random = np.random.default_rng(4)
    X = random.standard_normal((60, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + random.standard_normal((60, 3)), axis=1)]
    search = dg.cross_validate(X, y, loss=loss, cv=3, multiclass=multiclass, n_lams=4, score="zero_one")
    for row, (train, test) in zip(search.scores, StratifiedKFold(3).split(X, y), strict=True):
        for value, lam in zip(row, search.lams, strict=True):
            fit = dg.fit(X[train], y[train], loss=loss, lam=float(lam), multiclass=multiclass, tol=1e-8)
            assert value == pytest.approx(np.mean(fit.predict(X[test]) != y[test]), abs=0.051)
    by_loss = dg.cross_validate(X, y, loss=loss, cv=3, multiclass=multiclass, n_lams=4)
    fit = dg.fit(X, y, loss=loss, lam=by_loss.lam, multiclass=multiclass)
    assert by_loss.solution.objective == pytest.approx(fit.objective, rel=2e-6)
    same = dg.cross_validate(X, y, loss=loss, cv=[(np.arange(60),) * 2], multiclass=multiclass, n_lams=4)
    value = same.solution.objective - same.lam * np.sum(same.solution.coef**2)
    assert same.mean[same.index] == pytest.approx(value, rel=1e-4)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    pair=st.sampled_from([("squared", "l1"), ("hinge", "l2"), ("logistic", "l1")]),
)
def test_weights_are_repetitions(seed: int, pair: tuple[str, str]) -> None:
    random = np.random.default_rng(seed)
    X, y = ordinary(pair[0], 30, 3, seed=seed)
    times = random.integers(0, 4, 30)
    times[:4] = 1
    y[:4] = [1.0, -1.0, 1.0, -1.0]
    part = np.arange(30) % 3
    part[:4] = [0, 0, 1, 1]
    how: dict[str, Any] = {
        "loss": pair[0],
        "penalty": pair[1],
        "n_lams": 4,
        "tol": 1e-10,
        "standardize": True,
    }
    weighed = dg.cross_validate(X, y, sample_weight=times, groups=part, cv=LeaveOneGroupOut(), **how)
    rows = np.repeat(np.arange(30), times)
    repeated = dg.cross_validate(X[rows], y[rows], groups=part[rows], cv=LeaveOneGroupOut(), **how)
    assert weighed.lams == pytest.approx(repeated.lams, rel=1e-9)
    assert weighed.scores == pytest.approx(repeated.scores, rel=1e-3, abs=1e-6)
    assert weighed.se == pytest.approx(repeated.se, rel=1e-2, abs=1e-5)


def test_the_first_strength_leaves_no_weight_whatever_the_units() -> None:
    X, y = ordinary("logistic", 50, 60, seed=5)
    search = dg.cross_validate(
        100.0 * X, y, loss="logistic", penalty="l1", cv=[(np.arange(50),) * 2], n_lams=3
    )
    assert search.n_nonzero[0, 0] == 0
    assert search.n_nonzero[0, 1] > 0


def test_groups_stay_whole_and_numbers_of_folds_know_it() -> None:
    X, y = ordinary("squared", 40, 3, seed=6)
    groups = np.arange(40) // 4
    by_number = dg.cross_validate(X, y, loss="squared", cv=5, groups=groups, n_lams=3)
    by_splitter = dg.cross_validate(X, y, loss="squared", cv=GroupKFold(5), groups=groups, n_lams=3)
    assert np.array_equal(by_number.scores, by_splitter.scores)
    assert not np.array_equal(by_number.scores, dg.cross_validate(X, y, loss="squared", n_lams=3).scores)
    with pytest.raises(DataError, match="40 rows"):
        dg.cross_validate(X, y, loss="squared", groups=groups[:3])


def test_time_series_and_pairs_of_rows() -> None:
    X, y = ordinary("squared", 40, 3, seed=7)
    cv = TimeSeriesSplit(4)
    found = dg.cross_validate(X, y, loss="squared", cv=cv, n_lams=3)
    pairs = [(train, test) for train, test in cv.split(X)]
    masks = [(np.isin(np.arange(40), train), np.isin(np.arange(40), test)) for train, test in pairs]
    for same in (pairs, masks, iter(pairs)):
        assert np.array_equal(found.scores, dg.cross_validate(X, y, loss="squared", cv=same, n_lams=3).scores)


def test_repeating_folds_does_not_make_the_error_vanish() -> None:
    X, y = ordinary("squared", 60, 3, seed=8)
    few, many = (
        dg.cross_validate(
            X, y, loss="squared", cv=RepeatedKFold(n_splits=5, n_repeats=r, random_state=0), n_lams=3
        )
        for r in (1, 20)
    )
    assert len(many.scores) == 100
    assert np.all(many.se > 0.5 * few.se)


def test_a_number_of_folds_is_shuffled_by_a_seed_only() -> None:
    X, y = ordinary("hinge", 40, 3, seed=9)
    plain, ordered, shuffled = (
        dg.cross_validate(X, y, loss="hinge", cv=cv, random_state=seed, n_lams=3).scores
        for cv, seed in ((4, None), (StratifiedKFold(4), None), (4, 0))
    )
    assert np.array_equal(plain, ordered)
    assert not np.array_equal(plain, shuffled)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), folds=st.integers(1, 6), count=st.integers(1, 9), coarse=st.booleans())
def test_one_standard_error_never_chooses_a_weaker_penalty(
    seed: int, folds: int, count: int, coarse: bool
) -> None:
    random = np.random.default_rng(seed)
    scores = random.integers(0, 3, (folds, count)) * 1.0 if coarse else random.standard_normal((folds, count))
    mean, error = mean_and_error(scores, random.uniform(0.5, 2.0, folds), 1.0)
    least, chosen = best(mean), within_one_error(mean, error)
    assert chosen <= least
    assert mean[chosen] <= mean[least] + (error[least] if folds > 1 else 0.0)
    assert np.all(mean[:chosen] > mean[least] + (error[least] if folds > 1 else 0.0))


def test_rules() -> None:
    X, y = ordinary("squared", 60, 5, seed=10)
    how: dict[str, Any] = {"loss": "squared", "penalty": "l1", "n_lams": 20}
    least, careful = (dg.cross_validate(X, y, rule=rule, **how) for rule in ("min", "1se"))
    assert least.lam == least.lam_min <= least.lam_1se == careful.lam
    assert careful.solution.terms.lam == careful.lam_1se
    mine = dg.cross_validate(X, y, rule=lambda search: len(search.lams) - 1, **how)
    assert mine.lam == mine.lams[-1]
    for wrong in ("max", lambda search: 20, lambda search: 0.3):
        with pytest.raises(DataError, match="rule"):
            dg.cross_validate(X, y, rule=wrong, **how)


def test_scorers() -> None:
    X, y = ordinary("logistic", 60, 4, seed=11)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    how: dict[str, Any] = {"loss": "logistic", "n_lams": 4, "cv": 3, "sample_weight": weights}
    errors = dg.cross_validate(X, y, score="zero_one", **how)
    hits = dg.cross_validate(X, y, score="accuracy", **how)
    assert hits.greater_is_better
    assert not errors.greater_is_better
    assert hits.scores == pytest.approx(1.0 - errors.scores)
    assert hits.lam_min == errors.lam_min
    odds = dg.cross_validate(X, y, score="neg_log_loss", **how)
    assert odds.scores == pytest.approx(-dg.cross_validate(X, y, score="loss", **how).scores)

    def area(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        return float(roc_auc_score(y, model.decision_function(X), sample_weight=sample_weight))

    assert dg.cross_validate(X, y, score=area, **how).scores == pytest.approx(
        dg.cross_validate(X, y, score="roc_auc", **how).scores
    )
    with pytest.raises(DataError, match="takes no sample_weight"):
        dg.cross_validate(X, y, score=lambda model, X, y: 0.0, **how)
    with pytest.raises(DataError, match="Did you mean 'accuracy'"):
        dg.cross_validate(X, y, score="acuracy", **how)
    with pytest.raises(DataError, match="is nan"):
        dg.cross_validate(X, y, score=lambda model, X, y: np.nan, loss="logistic")
    with pytest.raises(DataError, match="one number"):
        dg.cross_validate(X, y, score=lambda model, X, y: "good", loss="logistic")


def test_scorers_of_numbers_see_the_rows_as_they_were_given() -> None:
    pd = pytest.importorskip("pandas")
    X, y = ordinary("squared", 40, 3, seed=12)
    frame = pd.DataFrame(X, columns=["one", "two", "three"])

    def seen(model: Any, X: Any, y: Any) -> float:
        assert list(X.columns) == ["one", "two", "three"]
        assert model.predict(X.copy()) == pytest.approx(model.predict(X))
        return float(r2_score(y, model.predict(X)))

    found = dg.cross_validate(frame, y, loss="squared", score=seen, n_lams=3)
    assert found.solution.names == ("one", "two", "three")
    named = dg.cross_validate(X, y, loss="squared", score="r2", n_lams=3)
    assert found.scores == pytest.approx(named.scores)
    with pytest.raises(DataError, match="zero_one"):
        dg.cross_validate(X, y, loss="squared", score="zero_one")
    with pytest.raises(DataError, match="takes no sample_weight"):
        dg.cross_validate(X, y, loss="squared", score=make_scorer(max_error), sample_weight=np.ones(40))


def test_sparse_columns_give_the_same_search() -> None:
    X, y = ordinary("logistic", 60, 6, seed=13)
    X[np.abs(X) < 0.7] = 0.0
    dense = dg.cross_validate(X, y, loss="logistic", penalty="l1", n_lams=4, tol=1e-9)
    sparse = dg.cross_validate(sp.csr_array(X), y, loss="logistic", penalty="l1", n_lams=4, tol=1e-9)
    assert sparse.scores == pytest.approx(dense.scores, rel=1e-4)


def test_folds_side_by_side_are_the_same_folds() -> None:
    X, y = ordinary("squared", 60, 4, seed=14)
    alone, together = (
        dg.cross_validate(X, y, loss="squared", penalty="l1", n_lams=5, score="r2", n_jobs=jobs)
        for jobs in (1, 2)
    )
    assert np.array_equal(alone.scores, together.scores)


class _Interrupting:
    """A scorer whose user loses patience."""

    def __init__(self, after: int) -> None:
        self.after, self.calls = after, 0

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        self.calls += 1
        if self.calls > self.after:
            raise KeyboardInterrupt
        return float(r2_score(y, model.predict(X)))


def test_an_interrupt_keeps_the_finished_folds() -> None:
    X, y = ordinary("squared", 60, 4, seed=15)
    whole = dg.cross_validate(X, y, loss="squared", score="r2", n_lams=4)
    part = dg.cross_validate(X, y, loss="squared", score=_Interrupting(after=9), n_lams=4)
    assert np.array_equal(part.scores, whole.scores[:2])
    assert part.status.startswith("Interrupted: 2 of 5 folds")
    assert part.solution.converged
    assert "2 of 5 folds" in repr(part)
    with pytest.raises(KeyboardInterrupt):
        dg.cross_validate(X, y, loss="squared", score=_Interrupting(after=3), n_lams=4)


def test_the_solution_is_proven_and_the_data_are_let_go() -> None:
    X, y = ordinary("logistic", 60, 4, seed=16)
    search = dg.cross_validate(X, y, loss="logistic", penalty="l1", n_lams=4)
    assert search.solution.converged
    assert search.solution.certificate.recheck(X, y).gap <= 1e-6 * search.solution.objective
    assert search.refit is None
    with pytest.warns(NotCertifiedWarning, match="in fold"):
        dg.cross_validate(X, y, loss="logistic", penalty="l1", n_lams=4, max_iter=1, tol=1e-12)


def test_a_target_without_a_slope_needs_one_strength() -> None:
    X = np.random.default_rng(0).standard_normal((20, 3))
    search = dg.cross_validate(X, np.ones(20), loss="absolute", penalty="l1")
    assert len(search.lams) == 1
    assert not search.solution.coef.any()


def _refusals() -> Iterator[tuple[dict[str, Any], str]]:
    yield {"cv": 1}, "at least 2"
    yield {"cv": "ten"}, "cv must be"
    yield {"cv": 50}, "cannot split"
    yield {"cv": [([0, 1], [99])]}, "does not have"
    yield {"cv": [(np.arange(20), [])]}, "no row that has weight"
    yield {"cv": [(np.arange(10, 20), np.arange(10))]}, "no row of class"
    yield {"penalty": "none"}, "no strength"
    yield {"lams": [1.0], "budgets": [1.0]}, "not both"
    yield {"lams": [1.0], "form": "constrained"}, "give budgets"
    yield {"budgets": [-1.0]}, "at least 0"
    yield {"form": "both"}, "form"
    yield {"score": 3}, "score must be"
    yield {"n_jobs": 0}, "n_jobs"


@pytest.mark.parametrize(("wrong", "said"), list(_refusals()))
def test_what_cannot_be_is_refused_in_a_sentence(wrong: dict[str, Any], said: str) -> None:
    X, _ = ordinary("squared", 20, 3, seed=17)
    with pytest.raises(DataError, match=said):
        dg.cross_validate(X, np.repeat(["no", "yes"], 10), **{"loss": "logistic", "n_lams": 3, **wrong})
