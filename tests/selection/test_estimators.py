"""LinearRegressorCV and LinearClassifierCV beside dg.cross_validate and inside scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dualgap as dg
from dualgap.errors import DataError
from path_instances import ordinary


def test_regressor() -> None:
    pd = pytest.importorskip("pandas")
    X, y = ordinary("absolute", 60, 4, seed=1)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = dg.LinearRegressorCV("absolute", "l1", n_lams=8, rule="1se").fit(frame, y, sample_weight=weights)
    search = dg.cross_validate(
        X, y, loss="absolute", penalty="l1", n_lams=8, rule="1se", sample_weight=weights
    )
    assert model.lam_ == pytest.approx(search.lam_1se)
    assert model.search_.scores == pytest.approx(search.scores)
    assert model.coef_ == pytest.approx(search.solution.coef)
    assert list(model.feature_names_in_) == list("abcd")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(frame), model.predict(frame))
    assert not hasattr(model, "partial_fit")
    assert clone(model).get_params()["rule"] == "1se"


def test_classifier() -> None:
    random = np.random.default_rng(2)
    X = random.standard_normal((60, 4))
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.5 * random.standard_normal((60, 3)), axis=1)]
    model = dg.LinearClassifierCV(n_lams=4, cv=3, scoring="accuracy", class_weight="balanced").fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.7
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert model.solution_.multiclass == "multinomial"
    budgets = dg.LinearClassifierCV("hinge", form="constrained", n_lams=4, cv=3).fit(X, y == "a")
    assert budgets.budget_ in budgets.search_.budgets
    with pytest.raises(DataError, match="LinearClassifierCV predicts classes"):
        dg.LinearClassifierCV("squared").fit(X, y)


def test_groups_reach_the_folds_also_through_a_pipeline() -> None:
    X, y = ordinary("squared", 40, 3, seed=3)
    groups = np.arange(40) // 4
    direct = dg.LinearRegressorCV(cv=GroupKFold(5), n_lams=3).fit(X, y, groups=groups)
    assert not hasattr(direct, "_groups") or direct._groups is None
    with sklearn.config_context(enable_metadata_routing=True):
        model = dg.LinearRegressorCV(n_lams=3).set_fit_request(groups=True, sample_weight=False)
        inside = make_pipeline(StandardScaler(with_mean=False, with_std=False), model)
        inside.fit(X, y, groups=groups)
    assert np.array_equal(inside[-1].search_.scores, direct.search_.scores)
