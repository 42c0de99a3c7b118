"""A limit on time is for the whole call, Ctrl-C ends it, and what there is says what it is."""

from __future__ import annotations

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dualgap as dg
from dualgap.drive.limits import Limits
from dualgap.errors import NotCertifiedWarning
from dualgap.fitting.fit import fit
from path_instances import ordinary

RNG = np.random.default_rng(0)
X = RNG.standard_normal((3000, 150))
Z = X[:, :40] @ RNG.standard_normal(40) + RNG.standard_normal(3000)
TWO, THREE = np.sign(Z), np.digitize(Z, [-3.0, 3.0])
LATE = 1e-3  # seconds in which none of these comes to its end


def warned(call: Callable[..., Any], *args: Any, **keywords: Any) -> tuple[Any, str]:
    """What a call returns, and what it warns of."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", NotCertifiedWarning)
        found = call(*args, **keywords)
    return found, " ".join(str(one.message) for one in seen)


CALLS: dict[str, tuple[Any, dict[str, Any]]] = {
    "grid": (TWO, {"loss": "logistic", "penalty": "l1"}),
    "every strength": (TWO, {"loss": "logistic", "penalty": "l2", "everywhere": 1e-4}),
    "traced": (Z, {"loss": "absolute", "penalty": "l1", "exact": True}),
    "rational": (Z, {"loss": "huber", "penalty": "elastic_net(0.5)", "exact": True}),
    "classes": (THREE, {"loss": "logistic", "penalty": "l1"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_path_ends_where_the_time_is_over(name: str) -> None:
    y, keywords = CALLS[name]
    path, said = warned(dg.path, X, y, **keywords, max_time=LATE)
    assert path.status in said
    assert path.stopped and "no points below lam" in path.status and "as far as the time" in repr(path)
    assert len(path.lams) == len(path.coefs) == len(path.gaps) >= 1
    assert np.all(path.gaps[:-1] <= 1e-4), "all but perhaps the last are as proven as asked"


def test_what_is_asked_of_a_stopped_path_later_has_its_time() -> None:
    small, y = ordinary("logistic", 80, 5, seed=3)
    with pytest.warns(NotCertifiedWarning, match="time limit"):
        path = dg.path(small, y, loss="logistic", penalty="l1", max_time=1e-9)
    path.take_time(Limits())
    assert path.solution(lam=0.01).converged


def test_a_path_in_time_says_so() -> None:
    small, y = ordinary("logistic", 60, 4, seed=3)
    path = dg.path(small, y, loss="logistic", penalty="l1", n_lams=5, max_time=600.0)
    assert not path.stopped and path.status == "All points are there." and len(path) == 5
    assert path.solution(lam=float(path.lams[2]) * 0.99).converged


@pytest.mark.parametrize(
    ("y", "keywords"),
    [
        (TWO, {"penalty": "l1"}),
        (TWO, {"penalty": "l1", "n_jobs": 2}),
        (TWO, {"penalty": "l1", "form": "constrained"}),
        (THREE, {"penalty": "l2"}),
    ],
)
def test_a_search_scores_the_strengths_it_reaches(y: Any, keywords: dict[str, Any]) -> None:
    search, said = warned(dg.cross_validate, X, y, loss="logistic", max_time=LATE, **keywords)
    assert "time limit came first: of" in said
    assert search.scores.shape == (5, len(search.strengths)) and 1 <= len(search.strengths) < 100
    assert search.status in repr(search)
    assert search.solution.coef.shape[-1] == X.shape[1]


def test_the_time_of_a_search_is_that_of_all_folds() -> None:
    dg.cross_validate(X[:200], TWO[:200], loss="logistic", penalty="l1", n_lams=3)  # loops compiled
    began = time.perf_counter()
    warned(dg.cross_validate, X, TWO, loss="logistic", penalty="l1", tol=1e-14, max_time=1.0)
    assert time.perf_counter() - began < 10.0, "one second for all of it, not for each solve"


def test_an_estimator_hands_its_limit_on() -> None:
    model, said = warned(dg.LinearClassifierCV("logistic", "l1", max_time=LATE).fit, X, TWO)
    assert "time limit came first: of" in said
    assert len(model.search_.strengths) < 100


def test_a_search_in_time_is_whole() -> None:
    small, y = ordinary("squared", 60, 4, seed=4)
    search = dg.cross_validate(small, y, loss="squared", n_lams=4, max_time=600.0)
    assert search.status == "All folds are finished." and search.solution.converged


@pytest.mark.parametrize("jobs", [1, 2])
def test_stability_counts_the_resamples_there_was_time_for(jobs: int) -> None:
    how: dict[str, Any] = {"loss": "logistic", "penalty": "l1", "lam": 1e-3, "n_jobs": jobs}
    with pytest.warns(NotCertifiedWarning, match="of 50 resamples"):
        found = dg.stability(X, TWO, resamples=50, max_time=LATE, **how)
    assert 1 <= len(found.coefs) < 50
    assert found.frequencies.shape == (X.shape[1],) and "of 50 resamples are fitted" in str(found)


def test_an_interrupt_ends_stability_with_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    small, y = ordinary("squared", 60, 4, seed=5)
    calls: list[int] = []

    def impatient(*args: Any, **keywords: Any) -> Any:
        calls.append(1)
        if len(calls) > 4:
            keywords["callback"] = _interrupting
        return fit(*args, **keywords)

    monkeypatch.setattr("dualgap.selection.stability.fit", impatient)
    how: dict[str, Any] = {"loss": "huber", "penalty": "l1", "lam": 0.01, "resamples": 9}
    with pytest.warns(NotCertifiedWarning, match="Interrupted: 3 of 9 resamples"):
        found = dg.stability(small, y, **how)
    assert len(found.coefs) == 3


def _interrupting(record: Any) -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_a_search_soon(jobs: int) -> None:
    dg.cross_validate(X[:200], TWO[:200], loss="logistic", penalty="l1", n_lams=3, n_jobs=jobs)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs without it
    threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.perf_counter()
    try:
        search = dg.cross_validate(X, TWO, loss="logistic", penalty="l1", tol=1e-15, n_lams=2000, n_jobs=jobs)
    except KeyboardInterrupt:
        pass
    else:
        assert search.interrupted and "Interrupted" in search.status
    assert time.perf_counter() - began < 10.0
