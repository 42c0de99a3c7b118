"""What weights say of rows, against formulas written out."""

from __future__ import annotations

import numpy as np
import pytest

import dualgap as dg
from dualgap.design import Dense
from dualgap.fitting.decisions import decisions, log_probabilities, row_losses, said
from dualgap.fitting.names import loss_named

X = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]])
COEF, LEVEL = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]]), np.array([0.0, 0.5, 0.2])


def test_one_vector_and_one_per_class() -> None:
    assert decisions(Dense(X), COEF[0], 0.5) == pytest.approx(X[:, 0] + 0.5)
    many = decisions(Dense(X), COEF, LEVEL)
    assert many == pytest.approx(X @ COEF.T + LEVEL)
    assert said(many).tolist() == np.argmax(X @ COEF.T + LEVEL, axis=1).tolist()
    assert said(np.array([-1.0, 0.0, 2.0])).tolist() == [0, 0, 1]


def test_the_loss_of_every_row() -> None:
    z, classes = X @ COEF.T + LEVEL, np.array([1.0, 2.0, 0.0])
    logistic = loss_named("logistic")
    joint = -np.log(np.exp(z)[np.arange(3), [1, 2, 0]] / np.exp(z).sum(axis=1))
    assert row_losses(logistic, classes, z, "multinomial", True) == pytest.approx(joint)
    signs = np.where(classes[:, None] == np.arange(3), 1.0, -1.0)
    rest = np.log1p(np.exp(-signs * z)).sum(axis=1)
    assert row_losses(logistic, classes, z, "one_vs_rest", True) == pytest.approx(rest)
    two = np.array([0.0, 1.0, 1.0])
    expected = np.log1p(np.exp(-np.array([-1.0, 1.0, 1.0]) * z[:, 0]))
    assert row_losses(logistic, two, z[:, 0], "multinomial", True) == pytest.approx(expected)
    assert row_losses(dg.losses.Squared(), classes, z[:, 0], None, False) == pytest.approx(
        (z[:, 0] - classes) ** 2
    )


def test_how_likely_each_class_is() -> None:
    z, logistic = X @ COEF.T + LEVEL, loss_named("logistic")
    joint = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    assert np.exp(log_probabilities(logistic, z, "multinomial")) == pytest.approx(joint)
    own = 1.0 / (1.0 + np.exp(-z))
    apart = np.exp(log_probabilities(logistic, z, "one_vs_rest"))
    assert apart == pytest.approx(own / own.sum(axis=1, keepdims=True))
    two = np.exp(log_probabilities(logistic, z[:, 0], "multinomial"))  # two classes have no joint form
    assert two == pytest.approx(np.column_stack([1.0 - own[:, 0], own[:, 0]]))
