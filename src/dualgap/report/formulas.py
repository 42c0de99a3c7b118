"""What was minimised, as a formula and in words."""

from __future__ import annotations

import re

import numpy as np

from dualgap.fitting.objective import Objective
from dualgap.losses import Loss
from dualgap.losses.joint import joint_hinge
from dualgap.penalties import Penalty
from dualgap.report.markup import number, safe

# A loss L(y, z) of a target and a prediction as a formula, and what it is good for.
# r is the error z − y, m the margin y·z with y = ±1; (t)₊ is t where positive, else 0.
LOSSES = {
    "squared": ("(z − y)²", "Every error counts by its square: least squares, the fit of the mean."),
    "absolute": (
        "|z − y|",
        "Every error counts by its size: the fit of the median, hardly moved by outliers.",
    ),
    "quantile": (
        "{q} (y − z)₊ + {rest} (z − y)₊",
        "The fit of a quantile: a share {q} of the targets lies below the prediction.",
    ),
    "huber": (
        "r² where |r| ≤ {delta}, else 2·{delta}|r| − {delta}², r = z − y",
        "Small errors count by their square, large ones by their size, so that outliers pull less.",
    ),
    "epsilon_insensitive": (
        "(|z − y| − {epsilon})₊",
        "Errors up to {epsilon} are free, beyond that they count by their size.",
    ),
    "squared_epsilon_insensitive": (
        "(|z − y| − {epsilon})₊²",
        "Errors up to {epsilon} are free, beyond that they count by their square.",
    ),
    "poisson": (
        "e<sup>z</sup> − y z − y + y log y",
        "Half the deviance of counts or rates: the logarithm of their mean is z.",
    ),
    "gamma": (
        "y e<sup>−z</sup> + z − log y − 1",
        "Half the deviance of positive amounts whose spread grows with their mean, which is e<sup>z</sup>.",
    ),
    "tweedie": (
        "half the Tweedie deviance of y and e<sup>z</sup>, power {p}",
        "For amounts that are often exactly 0, such as claims: the logarithm of their mean is z.",
    ),
    "binomial": (
        "log(1 + e<sup>z</sup>) − y z + y log y + (1 − y) log(1 − y)",
        "Half the deviance of shares of successes: the logarithm of their odds is z.",
    ),
    "hinge": (
        "(1 − y z)₊, y = ±1",
        "The support vector machine: rows right by a margin of 1 or more cost nothing.",
    ),
    "squared_hinge": (
        "(1 − y z)₊², y = ±1",
        "A support vector machine whose margin violations count squared.",
    ),
    "logistic": (
        "log(1 + e<sup>−y z</sup>), y = ±1",
        "Logistic regression: the prediction z is the logarithm of the odds.",
    ),
    "exponential": (
        "e<sup>−y z</sup>, y = ±1",
        "The loss of boosting; rows on the wrong side count steeply.",
    ),
    "perceptron": ("(−y z)₊, y = ±1", "Only rows on the wrong side cost, by their distance."),
    "zero_one": ("1 where y z ≤ 0, else 0, y = ±1", "The share of wrong rows itself; found by search."),
    "sigmoid": (
        "1 / (1 + e<sup>{steepness} y z</sup>), y = ±1",
        "A smooth stand-in for the share of wrong rows.",
    ),
}
PENALTIES = {
    "l1": "Weights pay by their size, so that many are exactly zero.",
    "l2": "Weights pay by their square: all are drawn towards zero, none is exactly zero.",
    "l2_norm": "The length of the weights pays: they shrink together, or vanish together.",
    "elastic_net": "Weights pay by size and by square: many are zero, and columns that move together share.",
    "linf": "Only the largest weight pays, so that many end up equally large.",
    "lp": "A norm of the weights pays.",
    "group_lasso": "Groups of weights pay by their length, so that whole groups are exactly zero.",
    "sparse_group": "Groups pay by their length and weights by their size: few groups, few weights in each.",
    "l21": "A column pays by the length of its weights in all outputs: all of them use it, or none does.",
    "l21_l2": "A column pays by the length of its weights in all outputs and by its square: they share.",
    "slope": "The largest weight pays the highest price, the next a lower one: few weights, some alike.",
    "fused": "Differences of neighbouring weights pay: these come in pieces, flat, straight or bent.",
    "mcp": "Weights pay by their size up to a point, and nothing more beyond: large ones are not shrunk.",
    "scad": "Weights pay by their size, less and less, and nothing more beyond: large ones are not shrunk.",
    "bridge": "Weights pay by a power of their size; below 1 that favours few large weights.",
    "l0": "Every column used costs the same, however large its weight: the best subset.",
    "l0_l2": "Every column used costs the same, with a little shrinkage.",
    "none": "There is no penalty.",
}
MULTINOMIAL = (
    "−log( e<sup>z<sub>y</sub></sup> / Σ<sub>k</sub> e<sup>z<sub>k</sub></sup> )",
    "All classes jointly: the probabilities of a row add up to one.",
)

JOINT_HINGE = (
    "max<sub>k</sub> ( 1[k ≠ y] + z<sub>k</sub> − z<sub>y</sub> )",
    "All classes jointly: a row costs nothing where its class is ahead of every other by one.",
)


def loss_formula(loss: Loss, multiclass: str | None = None) -> str:
    """L(y, z) with its parameters filled in; markup."""
    formula, _ = _wording(loss, multiclass)
    return f"L(y, z) = {_filled(formula, loss)}" if formula else f"L = {safe(loss)}"


def loss_words(loss: Loss, multiclass: str | None = None) -> str:
    """What the loss is good for."""
    apart = multiclass not in (None, "multinomial")
    each = " Every class is set against the rest, and the losses are added." if apart else ""
    return _filled(_wording(loss, multiclass)[1], loss) + each


def _wording(loss: Loss, multiclass: str | None) -> tuple[str, str]:
    if multiclass == "multinomial" and joint_hinge(loss):
        return JOINT_HINGE
    return MULTINOMIAL if multiclass == "multinomial" else LOSSES.get(loss.name, ("", ""))


def mean_of(loss: Loss) -> str:
    """What is measured, in words."""
    return f"mean {loss} loss".replace("_", " ")


def penalty_words(penalty: Penalty) -> str:
    """What the penalty does."""
    return PENALTIES.get(penalty.name, "")


def _filled(text: str, loss: Loss) -> str:
    numbers = {name: number(value) for name, value in vars(loss).items()}
    numbers["rest"] = number(1.0 - getattr(loss, "q", 0.0))
    return re.sub(r"\{(\w+)\}", lambda found: numbers[found[1]], text)


def objective_formula(terms: Objective, strength: bool = True) -> str:
    """minimise mean loss + λ penalty, or subject to a budget; markup. `strength` False leaves it a letter."""
    unknown = "w, b" if terms.fit_intercept else "w"
    plane = "x<sub>i</sub>·w + b" if terms.fit_intercept else "x<sub>i</sub>·w"
    plane += "" if terms.offset is None else " + o<sub>i</sub>"
    start = f'<span class="op">minimise</span><sub>{unknown}</sub>'
    if terms.hard:
        return f"{start} Σ<sub>j</sub> w<sub>j</sub>² subject to y<sub>i</sub>({plane}) ≥ 1 for every row"
    share = "1/n" if np.all(terms.sample_weight == 1.0) else "1/Σs<sub>i</sub>"
    weight = "" if np.all(terms.sample_weight == 1.0) else "s<sub>i</sub> "
    risk = f"{share} Σ<sub>i</sub> {weight}L(y<sub>i</sub>, {plane})"
    gauge = penalty_formula(terms.penalty, scaled=bool(np.any(terms.scale != 1.0)))
    if not strength:
        return f"{start} {risk} subject to {gauge} ≤ c" if terms.budget else f"{start} {risk} + λ {gauge}"
    if terms.budget is not None:
        return f"{start} {risk} subject to {gauge} ≤ {number(terms.budget, 6)}"
    return f"{start} {risk} + {number(terms.lam, 6)} · {gauge}" if terms.lam else f"{start} {risk}"


def penalty_formula(penalty: Penalty, *, scaled: bool = False) -> str:
    """The penalty's own formula in signs instead of words; markup."""
    text = penalty.formula
    for name, value in penalty.parameters.items():
        text = re.sub(rf"\b{name}\b", f"{value:g}", text)
    text = (
        safe(text)
        .replace("sum |", "Σ<sub>j</sub> |")
        .replace("sum w", "Σ<sub>j</sub> w")
        .replace("sqrt", "√")
        .replace("!=", "≠")
        .replace("^2", "²")
    )
    text = re.sub(r"\^(\([^)]*\)|[\w.]+)", r"<sup>\1</sup>", text)
    weight = "(σ<sub>j</sub>w<sub>j</sub>)" if scaled else "w<sub>j</sub>"
    text = text.replace("|w_j|", "|σ<sub>j</sub>w<sub>j</sub>|" if scaled else "|w<sub>j</sub>|")
    text = text.replace("sum over groups of ", "Σ<sub>g</sub> ").replace("(size) ", "|g| ")
    group = "(σw)<sub>g</sub>" if scaled else "w<sub>g</sub>"
    return text.replace("||w_g||", f"‖{group}‖").replace("w_j", weight)


def what(terms: Objective) -> str:
    """A short title: loss and penalty."""
    names = {"l1": "lasso penalty (l1)", "l2": "ridge penalty (l2)", "elastic_net": "elastic net"}
    penalty = str(terms.penalty)
    loss = str(terms.loss).replace("_", " ")
    if not terms.penalty.takes_strength:
        return f"{loss} loss without a penalty"
    return f"{loss} loss with {names.get(terms.penalty.name, penalty.replace('_', ' ') + ' penalty')}"
