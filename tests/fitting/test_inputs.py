from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import dualgap as dg
from dualgap.errors import DataError
from dualgap.fitting.inputs import read_factors, read_labels, read_numbers, read_table, read_weights
from dualgap.fitting.solution import Solution

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
y = X @ [1.0, 2.0, 0.0, -1.0] + RNG.normal(size=40)
LABELS = np.where(y > 0, 1, -1)
FRAME = pd.DataFrame(X, columns=list("abcd"))
POLARS = pl.DataFrame({name: X[:, j] for j, name in enumerate("abcd")})


def lasso(table: Any, target: Any = y, **more: Any) -> Solution:
    return dg.fit(table, target, loss="squared", penalty="l1", lam=0.1, **more)


def ridge_logistic(labels: Any, **more: Any) -> Solution:
    return dg.fit(X, labels, loss="logistic", penalty="l2", lam=0.1, **more)


BASE = lasso(X)


def frozen(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def wide_indices(array: Any) -> Any:
    matrix = sp.csr_array(array)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


SAME: dict[str, Callable[[], Any]] = {
    "fortran": lambda: np.asfortranarray(X),
    "read-only": lambda: frozen(X),
    "reversed": lambda: np.ascontiguousarray(X[::-1])[::-1],
    "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "big-endian": lambda: X.astype(">f8"),
    "objects": lambda: X.astype(object),
    "list": X.tolist,
    "csr_matrix": lambda: sp.csr_matrix(X),
    "csr_array": lambda: sp.csr_array(X),
    "csc_matrix": lambda: sp.csc_matrix(X),
    "csc_array": lambda: sp.csc_array(X),
    "coo_array": lambda: sp.coo_array(X),
    "lil_array": lambda: sp.lil_array(X),
    "int64 indices": lambda: wide_indices(X),
    "pandas": lambda: FRAME,
    "pandas nullable": FRAME.convert_dtypes,
    "pandas objects": lambda: FRAME.astype(object),
    "polars": lambda: POLARS,
}


@pytest.mark.parametrize("kind", SAME)
def test_the_same_numbers_give_the_same_answer(kind: str) -> None:
    solution = lasso(SAME[kind]())
    assert solution.objective == pytest.approx(BASE.objective, rel=2e-6)
    np.testing.assert_allclose(solution.coef, BASE.coef, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64, np.uint8, bool])
def test_other_number_types_are_read(dtype: Any) -> None:
    rounded = (np.abs(10 * X)).astype(dtype)
    solution = lasso(rounded)
    assert solution.objective == pytest.approx(lasso(rounded.astype(float)).objective, rel=1e-12)


def test_sparse_int8_and_float32() -> None:
    pattern = (X > 0).astype(np.int8)
    wanted = lasso(pattern.astype(float)).objective
    assert lasso(sp.csr_array(pattern)).objective == pytest.approx(wanted, rel=2e-6)
    assert lasso(sp.csc_array(pattern.astype(np.float32))).objective == pytest.approx(wanted, rel=2e-6)


def test_duplicate_and_unsorted_entries_count_and_stay() -> None:
    rows, columns, values = [0, 0, 1, 2, 2], [1, 1, 0, 1, 0], np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    matrix = sp.coo_array((values, (rows, columns)), shape=(3, 2)).tocsr()
    raw = sp.csr_array((values, np.array([1, 1, 0, 1, 0]), np.array([0, 2, 3, 5])), shape=(3, 2))
    before = raw.indices.copy(), raw.data.copy()
    target = np.array([1.0, 2.0, 4.0])
    assert lasso(raw, target).objective == pytest.approx(lasso(matrix.toarray(), target).objective, rel=2e-6)
    assert np.array_equal(raw.indices, before[0])
    assert np.array_equal(raw.data, before[1])


@pytest.mark.parametrize("build", [np.array, sp.csr_array, sp.csc_array, FRAME.__class__])
def test_the_data_is_never_written_to(build: Any) -> None:
    table = build(X)
    dense = table.toarray() if sp.issparse(table) else np.array(table)
    for penalty in ("l1", "l2", "linf"):
        dg.fit(table, y, loss="huber(1.35)", penalty=penalty, lam=0.1, standardize=True)
    after = table.toarray() if sp.issparse(table) else np.array(table)
    assert np.array_equal(dense, after)


def test_an_empty_sparse_matrix_fits() -> None:
    solution = lasso(sp.csr_array((40, 4)))
    assert solution.converged
    assert not solution.coef.any()


BAD_TABLES: dict[str, tuple[Any, str]] = {
    "none": (None, "X is None"),
    "one dimension": (y, "two dimensions"),
    "three dimensions": (X[None], "two dimensions"),
    "no rows": (X[:0], "no rows"),
    "no columns": (X[:, :0], "no columns"),
    "nan": (np.where(np.arange(160).reshape(40, 4) == 13, np.nan, X), "NaN in column 1, row 3"),
    "infinity": (np.where(np.arange(160).reshape(40, 4) == 13, -np.inf, X), "infinity in column 1, row 3"),
    "sparse nan": (
        sp.csr_array(np.where(np.arange(160).reshape(40, 4) == 13, np.nan, X)),
        "NaN in column 1, row 3",
    ),
    "overflow": (X * 1e200, "overflow"),
    "strings": (np.array([["a", "b"]] * 40), "'a' in column 0, row 0"),
    "objects": (np.array([[1, "b"]] * 40, dtype=object), "'b' in column 1, row 0"),
    "dates": (np.full((40, 2), np.datetime64("2020-01-01")), "where a number was expected"),
    "complex": (X + 1j, "Complex"),
    "sparse complex": (sp.csr_array(X + 1j), "Complex"),
    "masked": (np.ma.masked_array(X, mask=X > 1), "masked"),
    "ragged": ([[1, 2], [1]], "different lengths"),
    "a set": ({1, 2}, "not a table"),
    "pandas missing": (FRAME.astype("Float64").mask(FRAME > 2.0), "NaN in column 'd'"),
    "polars missing": (
        POLARS.with_columns(pl.when(pl.col("b") > 1).then(None).otherwise(pl.col("b")).alias("b")),
        "NaN in column 'b'",
    ),
    "polars lazy": (POLARS.lazy(), "collect()"),
}


@pytest.mark.parametrize("kind", BAD_TABLES)
def test_a_bad_table_is_refused_in_one_sentence(kind: str) -> None:
    table, said = BAD_TABLES[kind]
    with pytest.raises(DataError) as caught:
        lasso(table)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_object_that_is_no_number_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        lasso(np.array([[{}, 1]] * 40, dtype=object))


BAD_TARGETS: dict[str, tuple[Any, str]] = {
    "none": (None, "y is None"),
    "short": (y[:-1], "y has 39"),
    "three dimensions": (np.zeros((40, 2, 2)), "one column"),
    "no columns": (np.zeros((40, 0)), "y has no columns"),
    "a second column with a gap": (
        np.column_stack([y, np.where(np.arange(40) == 3, np.nan, y)]),
        "'y1' (number 1) of y: y contains NaN",
    ),
    "a number": (3.0, "one column"),
    "strings": (["a"] * 40, "strings"),
    "numbers as strings": (y.astype(str), "strings"),
    "nan": (np.where(np.arange(40) == 3, np.nan, y), "NaN in row 3"),
    "infinity": (np.where(np.arange(40) == 3, np.inf, y), "infinity in row 3"),
    "overflow": (y * 1e200, "rescale"),
    "underflow": (y * 1e-200, "power of ten"),
    "complex": (y + 1j, "Complex"),
    "sparse": (sp.csr_array(y[:, None]), "sparse"),
    "missing": (pd.Series(y, dtype="Float64").mask(np.arange(40) == 5), "NaN in row 5"),
}


@pytest.mark.parametrize("kind", BAD_TARGETS)
def test_a_bad_target_is_refused_in_one_sentence(kind: str) -> None:
    target, said = BAD_TARGETS[kind]
    with pytest.raises(DataError) as caught:
        lasso(X, target)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "target", [y.tolist(), y[:, None], pd.Series(y), pd.DataFrame(y), pl.Series(y), y.astype(object)]
)
def test_targets_of_any_form(target: Any) -> None:
    assert lasso(X, target).objective == pytest.approx(BASE.objective, rel=1e-12)


LABELLINGS: dict[str, tuple[Any, list[Any]]] = {
    "signs": (LABELS, [-1, 1]),
    "zero one": ((LABELS > 0).astype(int), [0, 1]),
    "bool": (LABELS > 0, [False, True]),
    "strings": (np.where(LABELS > 0, "yes", "no"), ["no", "yes"]),
    "objects": (np.where(LABELS > 0, "yes", "no").astype(object), ["no", "yes"]),
    "halves": (np.where(LABELS > 0, 1.5, 0.5), [0.5, 1.5]),
    "category": (pd.Series(pd.Categorical(np.where(LABELS > 0, "yes", "no"))), ["no", "yes"]),
    "nullable": (pd.Series(LABELS > 0, dtype="boolean"), [False, True]),
    "polars": (pl.Series(np.where(LABELS > 0, "yes", "no").tolist()), ["no", "yes"]),
}


@pytest.mark.parametrize("kind", LABELLINGS)
def test_labels_of_any_kind(kind: str) -> None:
    labels, classes = LABELLINGS[kind]
    solution = ridge_logistic(labels)
    assert solution.classes is not None
    assert solution.classes.tolist() == classes
    assert solution.objective == pytest.approx(ridge_logistic(LABELS).objective, rel=1e-12)
    assert set(solution.predict(X).tolist()) <= set(classes)


BAD_LABELS: dict[str, tuple[Any, str]] = {
    "one class": (np.ones(40), "one class only, 1.0"),
    "numbers": (y, "continuous number"),
    "nan": (np.where(np.arange(40) == 3, np.nan, LABELS), "row 3"),
    "missing": (pd.Series([None, *["a", "b"] * 19, "a"]), "missing label in row 0"),
    "missing string": (pd.Series([pd.NA, *["a", "b"] * 19, "a"], dtype="string"), "missing label in row 0"),
    "mixed": (np.array([1, "a"] * 20, dtype=object), "int and str"),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
def test_bad_labels_are_refused(kind: str) -> None:
    labels, said = BAD_LABELS[kind]
    with pytest.raises(DataError) as caught:
        ridge_logistic(labels)
    assert said in str(caught.value)


def test_rows_of_weight_zero_do_not_count() -> None:
    weights = (np.arange(40) % 2).astype(float)
    solution = lasso(X, sample_weight=weights)
    assert solution.objective == pytest.approx(lasso(X[1::2], y[1::2]).objective, rel=2e-6)
    assert not solution.certificate.theta[::2].any()


def test_weights_repeat_rows() -> None:
    times = RNG.integers(0, 4, 40)
    weighted = lasso(X, sample_weight=pd.Series(times))
    repeated = lasso(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.objective == pytest.approx(repeated.objective, rel=2e-6)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.zeros(40), "Every sample_weight is zero"),
        (np.where(np.arange(40) == 3, 1e-310, 1.0), "in row 3, nothing beside the sum"),
        (np.full(40, 1e308), "nothing beside the sum"),
        (-np.ones(40), "-1.0 in row 0"),
        (np.full(40, np.nan), "nan in row 0"),
        ([1.0], "sample_weight has 1"),
        (["a"] * 40, "strings"),
        (np.ones((40, 2)), "one column"),
    ],
)
def test_bad_weights_are_refused(weights: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        lasso(X, sample_weight=weights)
    assert said in str(caught.value)


def test_a_class_without_weight_is_refused() -> None:
    with pytest.raises(DataError, match="no rows"):
        ridge_logistic(LABELS, sample_weight=(LABELS > 0).astype(float))


def test_one_weight_for_all_rows() -> None:
    assert np.array_equal(read_weights(2.0, 3), np.full(3, 2.0))


def test_penalty_factors_by_position_and_by_name() -> None:
    by_place = lasso(FRAME, penalty_factors=[0.0, 1.0, 1.0, 3.0])
    by_name = lasso(FRAME, penalty_factors={"a": 0.0, "d": 3.0})
    assert by_place.objective == by_name.objective
    assert by_place.objective < BASE.objective + 0.2 * abs(BASE.coef[3])


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        ([1.0], "each of the 4 columns"),
        (2.0, "each of the 4 columns"),
        ([-1.0, 0.0, 0.0, 0.0], "column 'a' (number 0) is -1.0"),
        ([np.inf, 0.0, 0.0, 0.0], "drop a column"),
        (["a"] * 4, "strings"),
        ({"q": 1.0}, "'q', which is not a column"),
        ({"a": "x"}, "strings"),
    ],
)
def test_bad_factors_are_refused(factors: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        lasso(FRAME, penalty_factors=factors)
    assert said in str(caught.value)


def test_factors_by_name_need_names() -> None:
    with pytest.raises(DataError, match="column names"):
        read_factors({"a": 1.0}, read_table(X))


@pytest.mark.parametrize("penalty", ["linf", "l2_norm", "lp(3)"])
def test_norms_that_couple_columns_take_no_factors(penalty: str) -> None:
    with pytest.raises(DataError, match="rescale the columns"):
        dg.fit(X, y, loss="squared", penalty=penalty, lam=0.1, penalty_factors=[1, 2, 3, 4])


@pytest.mark.parametrize(
    ("strength", "said"),
    [
        ({}, "none was given"),
        ({"lam": 1.0, "C": 1.0}, "lam and C were given"),
        ({"lam": -1.0}, "at least 0"),
        ({"lam": float("nan")}, "at least 0"),
        ({"lam": float("inf")}, "finite"),
        ({"lam": "a"}, "must be a number"),
        ({"lam": [0.1, 0.2]}, "must be a number"),
        ({"C": 0.0}, "positive"),
        ({"C": float("inf")}, "finite C"),
        ({"budget": -1.0}, "at least 0"),
    ],
)
def test_bad_strengths_are_refused(strength: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        dg.fit(X, y, loss="squared", penalty="l1", **strength)
    assert said in str(caught.value)


def test_no_penalty_takes_no_strength() -> None:
    with pytest.raises(DataError, match="takes no strength"):
        dg.fit(X, y, loss="squared", penalty="none", lam=1.0)


def test_labels_and_numbers_are_read_as_arrays() -> None:
    classes, which = read_labels(["b", "a", "b"], 3)
    assert classes.tolist() == ["a", "b"]
    assert which.tolist() == [1, 0, 1]
    assert read_numbers([1, 2, 3], 3).dtype == np.float64


def test_names_of_a_frame_reach_the_solution() -> None:
    assert lasso(FRAME).names == ("a", "b", "c", "d")
    assert lasso(FRAME.rename(columns={"a": 7})).names == ("7", "b", "c", "d")
    assert lasso(X).names is None
