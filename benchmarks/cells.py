"""The rows of the table: problems, the peers that can do them, and the ratio that must be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks import real_data
from benchmarks.problems import (
    Problem,
    data_for,
    dense_classes,
    expression_classes,
    heavy_regression,
    largest,
    peers_strength,
    ridge_size,
    sparse_regression,
    sparse_signal,
    text_classes,
)

MARGIN = ("liblinear", "snapml")
PIECEWISE = ("highs", "skglm", "asgl")
QUADRATIC = ("skglm", "celer", "adelie", "sklearn")
SPARSE_LOGISTIC = ("snapml", "liblinear", "skglm", "celer")
CONIC = ("cvxpy_clarabel",)
SEPARABLE = ("l1", "l2", "elastic_net(0.5)")
NORMS = ("linf", "l2_norm", "lp(1.5)", "lp(3)")


@dataclass(frozen=True)
class Cell:
    """A problem family with the peers that can do it and the ratio that must be reached."""

    name: str
    make: Callable[[int], Problem]
    rivals: tuple[str, ...]
    must: float
    quick: bool = False


def cells(share: float = 1.0) -> Iterator[Cell]:
    """Every row of the table, with `share` times the rows."""
    yield from _margin(share)
    yield from _piecewise(share)
    yield from _quadratic(share)
    yield from _logistic(share)
    yield from _squared_hinge(share)
    yield from _huber_and_ridge(share)
    yield from _real(share)
    yield from _balls_and_norms(share)


def _margin(share: float) -> Iterator[Cell]:
    n = int(50_000 * share)
    for C, intercept, must in ((1.0, False, 30), (1.0, True, 30), (0.01, False, 2)):
        yield Cell(
            f"hinge+l2 dense {n}x100 C'={C:g}" + (", intercept" if intercept else ""),
            lambda seed, C=C, intercept=intercept: _dense_l2("hinge", n, seed, C, intercept),
            MARGIN,
            must,
            quick=C == 0.01,
        )
    n_text = int(20_000 * share)
    for C in (1.0, 10.0):
        yield Cell(
            f"hinge+l2 text {n_text}x50000 C'={C:g}", _text("hinge", n_text, C), MARGIN, 1.2, quick=C == 1
        )


def _piecewise(share: float) -> Iterator[Cell]:
    for loss in ("absolute", "quantile(0.5)", "quantile(0.9)"):
        for rows, p, must in ((2000, 500, 15), (20_000, 50, 15), (100_000, 20, 20)):
            quick = loss == "quantile(0.9)" and rows == 20_000
            yield _at_share(loss, "l1", (int(rows * share), p), 1 / 20, PIECEWISE, must, quick)
    for rows, p, must in ((2000, 500, 15), (20_000, 50, 30)):
        yield _at_share("hinge", "l1", (int(rows * share), p), 1 / 20, ("cvxpy_clarabel", "highs"), must)
    for loss, rows, p, must in (
        ("absolute", 5000, 50, 10),
        ("absolute", 20_000, 50, 30),
        ("epsilon_insensitive(0.1)", 20_000, 100, 30),
    ):
        n = int(rows * share)
        yield Cell(
            f"{loss}+l2 {n}x{p}",
            lambda seed, n=n, p=p, loss=loss: _with_lam(loss, (n, p), seed, peers_strength(1.0, n)),
            ("cvxpy_piqp", "cvxpy_clarabel", "liblinear"),
            must,
            quick=rows == 5000,
        )


def _quadratic(share: float) -> Iterator[Cell]:
    n, n_sparse = int(1000 * share), int(20_000 * share)
    for divide in (20, 100):
        yield Cell(
            f"lasso dense {n}x10000 lmax/{divide}",
            lambda seed, divide=divide: _signal("l1", (n, 10_000), seed, divide),
            QUADRATIC,
            1.2,
            quick=divide == 20,
        )
    yield Cell(
        f"lasso sparse {n_sparse}x100000 lmax/20",
        lambda seed: _sparse_lasso(n_sparse, 100_000, seed),
        QUADRATIC,
        1,
    )
    yield Cell(
        f"elastic net dense {n}x5000 lmax/50",
        lambda seed: _signal("elastic_net(0.5)", (n, 5000), seed, 50),
        QUADRATIC,
        1,
    )


def _logistic(share: float) -> Iterator[Cell]:
    n, n_text, n_wide = int(50_000 * share), int(20_000 * share), int(2000 * share)
    yield Cell(
        f"logistic+l2 dense {n}x100",
        lambda seed: _dense_l2("logistic", n, seed),
        ("snapml", "glum", "sklearn"),
        1,
        quick=True,
    )
    peers = ("snapml", "sklearn", "liblinear")
    yield Cell(f"logistic+l2 text {n_text}x50000", _text("logistic", n_text, 1.0), peers, 1)
    yield Cell(
        f"logistic+l1 dense {n_wide}x5000 lmax/20",
        lambda seed: _wide_l1("logistic", n_wide, seed),
        SPARSE_LOGISTIC,
        1,
    )
    for C in (1.0, 10.0):
        make = _text("logistic", n_text, C, "l1")
        yield Cell(f"logistic+l1 text {n_text}x50000 C'={C:g}", make, SPARSE_LOGISTIC, 1, quick=C == 1)


def _squared_hinge(share: float) -> Iterator[Cell]:
    loss, peers = "squared_hinge", ("liblinear",)
    n, n_text, n_wide = int(50_000 * share), int(20_000 * share), int(2000 * share)
    yield Cell(f"{loss}+l2 dense {n}x100", lambda seed: _dense_l2(loss, n, seed), peers, 1)
    yield Cell(f"{loss}+l2 text {n_text}x50000", _text(loss, n_text, 1.0), peers, 1)
    yield Cell(f"{loss}+l1 dense {n_wide}x5000", lambda seed: _wide_l1(loss, n_wide, seed), peers, 2)
    yield Cell(f"{loss}+l1 text {n_text}x50000", _text(loss, n_text, 1.0, "l1"), peers, 1)


def _huber_and_ridge(share: float) -> Iterator[Cell]:
    n = int(2000 * share)
    yield _at_share("huber(0.2)", "l1", (n, 1000), 1 / 20, ("skglm",), 1)
    yield Cell(
        f"huber(0.2)+l2 {n}x1000",
        lambda seed: _with_lam("huber(0.2)", (n, 1000), seed, 0.01),
        ("skglm",),
        1,
    )
    for rows, p in ((20_000, 500), (500, 20_000)):
        n = int(rows * share)
        yield Cell(
            f"squared+l2 {n}x{p}",
            lambda seed, n=n, p=p: _with_lam("squared", (n, p), seed, 1.0 / n),
            ("sklearn",),
            1,
            quick=rows == 500,
        )


def _real(share: float) -> Iterator[Cell]:
    """Real data, with at most their own rows, and what looks like gene expression."""
    share = min(share, 1.0)
    n = int(200 * share)
    for loss, peers in (("logistic", SPARSE_LOGISTIC), ("squared_hinge", ("liblinear",))):
        yield Cell(
            f"{loss}+l1 expression-like {n}x10000 lmax/10",
            lambda seed, loss=loss: _penalise(*expression_classes(n, 10_000, seed), loss, 10),
            peers,
            1,
        )
    for name, data in real_data.available().items():
        yield Cell(f"hinge+l2 {name} C'=1", _real_margin(data, "hinge", share), MARGIN, 1.2)
        yield Cell(
            f"logistic+l2 {name} C'=1", _real_margin(data, "logistic", share), ("snapml", "sklearn"), 1
        )
        yield Cell(
            f"logistic+l1 {name} lmax/50",
            lambda seed, data=data: _penalise(*real_data.rows(data, share, seed), "logistic", 50),
            SPARSE_LOGISTIC,
            1,
        )


def _balls_and_norms(share: float) -> Iterator[Cell]:
    for penalty in (*SEPARABLE, *NORMS):
        for loss in ("logistic", "squared", "hinge", "absolute"):
            for rows, p in ((2000, 100), (100, 1000), (20_000, 100)):
                size = (int(rows * share), p)
                must = 15.0 if penalty in SEPARABLE else 20.0 if rows > p else 4.0
                yield Cell(
                    f"{loss} s.t. {penalty} {size[0]}x{p}",
                    lambda seed, size=size, loss=loss, penalty=penalty: _in_ball(loss, penalty, size, seed),
                    CONIC,
                    must,
                    quick=(penalty, loss, rows) in {("l1", "logistic", 2000), ("lp(1.5)", "hinge", 2000)},
                )
                if penalty in NORMS:
                    quick = (penalty, loss, rows) == ("linf", "absolute", 100)
                    yield _at_share(loss, penalty, size, 0.1, CONIC, must, quick)
    for penalty in ("l1", "l2"):
        yield _at_share("exponential", penalty, (int(2000 * share), 100), 0.01, CONIC, 20)


def _at_share(
    loss: str,
    penalty: str,
    size: tuple[int, int],
    of_largest: float,
    rivals: tuple[str, ...],
    must: float,
    quick: bool = False,
) -> Cell:
    """λ as a share of the one at which w = 0 is optimal."""

    def make(seed: int) -> Problem:
        X, y = data_for(loss, *size, seed)
        return Problem(X, y, loss, penalty, lam=of_largest * largest(X, y, loss, penalty))

    return Cell(f"{loss}+{penalty} {size[0]}x{size[1]}", make, rivals, must, quick)


def _penalise(X: object, y: object, loss: str, divide: float) -> Problem:
    return Problem(X, y, loss, "l1", lam=largest(X, y, loss) / divide)


def _with_lam(loss: str, size: tuple[int, int], seed: int, lam: float) -> Problem:
    X, y = heavy_regression(*size, seed)
    return Problem(X, y, loss, "l2", lam=lam)


def _dense_l2(loss: str, n: int, seed: int, C: float = 1.0, intercept: bool = False) -> Problem:
    X, y = dense_classes(n, 100, seed)
    return Problem(X, y, loss, "l2", lam=peers_strength(C, n), fit_intercept=intercept)


def _wide_l1(loss: str, n: int, seed: int) -> Problem:
    return _penalise(*dense_classes(n, 5000, seed), loss, 20)


def _text(loss: str, n: int, C: float, penalty: str = "l2") -> Callable[[int], Problem]:
    lam = peers_strength(C, n) if penalty == "l2" else 1.0 / (C * n)
    return lambda seed: Problem(*text_classes(n, 50_000, seed), loss, penalty, lam=lam)


def _signal(penalty: str, size: tuple[int, int], seed: int, divide: float) -> Problem:
    X, y = sparse_signal(*size, seed)
    lam = largest(X - X.mean(axis=0), y - y.mean(), "squared") / divide
    return Problem(X, y, "squared", penalty, lam=lam, fit_intercept=True)


def _sparse_lasso(n: int, p: int, seed: int) -> Problem:
    X, y = sparse_regression(n, p, seed)
    return Problem(X, y, "squared", "l1", lam=largest(X, y - y.mean(), "squared") / 20, fit_intercept=True)


def _in_ball(loss: str, penalty: str, size: tuple[int, int], seed: int) -> Problem:
    X, y = data_for(loss, *size, seed)
    return Problem(X, y, loss, penalty, budget=ridge_size(X, y, penalty), fit_intercept=True)


def _real_margin(data: real_data.Load, loss: str, share: float) -> Callable[[int], Problem]:
    def make(seed: int) -> Problem:
        X, y = real_data.rows(data, share, seed)
        return Problem(X, y, loss, "l2", lam=peers_strength(1.0, len(y)))

    return make
