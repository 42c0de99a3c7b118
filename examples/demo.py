"""A handful of models on data that ships with scikit-learn, raw as it comes, each with its proof."""

from __future__ import annotations

import warnings

from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression

import dualgap as dg


def headline(text: str) -> None:
    print(f"\n\n── {text} " + "─" * max(3, 96 - len(text)))


def lasso_with_proven_zeros() -> None:
    headline("The lasso, and which of its zeros are proven")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    print(dg.fit(X, y, loss="squared", penalty="l1", lam=20.0, standardize=True).summary())


def upper_quantile() -> None:
    headline("Not the mean but the 90th percentile, with an error bar on the weights")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    solution = dg.fit(X, y, loss="quantile(0.9)", penalty="elastic_net(0.1)", lam=0.02, standardize=True)
    print(solution.summary())


def budgeted_machine() -> None:
    headline("A support vector machine on a budget: sum |w_j| <= 3 and not a bit more")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    solution = dg.fit(X, y, loss="hinge", penalty="l1", budget=3.0, standardize=True)
    print(solution.summary())
    print(f"\n  {(solution.predict(X) == y).mean():.1%} of the rows on the right side")


def three_classes() -> None:
    headline("Three classes at once, no weight larger than it need be")
    X, y = load_iris(return_X_y=True, as_frame=True)
    print(dg.fit(X, y, loss="logistic", penalty="linf", lam=0.01).summary())


def how_good_is_that_model() -> None:
    headline("And the model you already have?")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it stopped early, not how far off it is
        model = LogisticRegression().fit(X, y)
    print("LogisticRegression() as scikit-learn ships it, on the raw breast cancer data:\n")
    print(dg.certify(X, y, model))
    proven = dg.fit(X, y, loss="logistic", penalty="l2", C=2.0)
    print("\nThe same objective here (scikit-learn's C=1 is C=2 in these units):\n")
    print(f"  {proven!r}\n  {proven.solver}, {proven.n_iter} iterations, {proven.seconds:.2g} s")


def which_solver() -> None:
    headline("Why that solver?")
    X, y = load_diabetes(return_X_y=True)
    print(dg.explain(X, y, loss="absolute", penalty="lp(1.5)", lam=0.01))


def main() -> None:
    lasso_with_proven_zeros()
    upper_quantile()
    budgeted_machine()
    three_classes()
    how_good_is_that_model()
    which_solver()
    headline("Next")
    print(
        'Try your own: dg.fit(X, y, loss="huber(1.35)", penalty="l2_norm", lam=0.1).summary()\n'
        "Every loss goes with every penalty; README.md has the table."
    )


if __name__ == "__main__":
    main()
