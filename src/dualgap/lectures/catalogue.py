"""Every figure, one line each: name, where it is drawn, where the lectures have it, title."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from dualgap.errors import DataError
from dualgap.lectures.drawing import Drawing


@dataclass(frozen=True)
class Entry:
    """A figure that can be drawn. `place` is "module:function", or "module:TABLE" that holds it by name."""

    name: str
    place: str
    source: str
    title: str

    @property
    def family(self) -> str:
        """The module that draws it."""
        return self.place.partition(":")[0]

    def draw(self) -> Drawing:
        """The picture with its caption. MissingDataError where its data are not to be had."""
        family, _, name = self.place.partition(":")
        try:
            found = getattr(importlib.import_module(f"dualgap.lectures.{family}"), name)
        except ModuleNotFoundError as problem:
            if problem.name is None or problem.name.split(".")[0] != "matplotlib":
                raise
            raise DataError("Figures need matplotlib: pip install 'dualgap[figures]'.") from None
        function: Callable[[], Drawing] = found[self.name] if isinstance(found, dict) else found
        return function()


FAMILIES = {
    "losses": "Losses",
    "penalties": "Penalties",
    "plane": "Two weights: risk, penalty and the path between them",
    "data_paths": "Weights and errors along the path",
    "digits": "0 against 1",
    "machines": "Support vector machines",
    "subgradients": "Subgradients",
    "descent": "Steps",
    "races": "Algorithms",
}

ENTRIES = (
    Entry("zero_one", "losses:zero_one", "000 fig. 6.1", "The zero_one loss against the margin"),
    Entry("s_shaped", "losses:s_shaped", "000 fig. 6.2, 6.3", "An S-shaped approximation, and convexity"),
    Entry("margin_losses", "losses:margin_losses", "000 fig. 6.4; 002; 004", "Surrogate losses"),
    Entry("classification_losses", "losses:classification_losses", "003 §6", "Zero_one, hinge, logistic"),
    Entry("regression_losses", "losses:regression_losses", "002; 003 §3", "Losses of regression"),
    Entry("worked_example", "losses:worked_example", "003 §3", "Least squares and least absolute deviation"),
    Entry("norm_balls", "penalties:norm_balls", "000 fig. 6.5", "Balls of p-norms"),
    Entry("one_dimension", "penalties:one_dimension", "003 §4", "Ridge and lasso in one dimension"),
    Entry("regression_risks", "plane:regression_risks", "003 §5", "Risks of regression"),
    Entry("penalty_contours", "plane:penalty_contours", "003 §5", "Ridge and lasso penalty"),
    Entry("plane_squared_l2", "plane:PAIRS", "003 §5", "Least squares + ridge"),
    Entry("plane_squared_l1", "plane:PAIRS", "003 §5", "Least squares + lasso"),
    Entry("plane_absolute_l2", "plane:PAIRS", "003 §5", "Least absolute deviation + ridge"),
    Entry("plane_absolute_l1", "plane:PAIRS", "003 §5", "Least absolute deviation + lasso"),
    Entry("pareto", "plane:pareto", "003 §5", "Undominated weights"),
    Entry("classification_risks", "plane:classification_risks", "003 §6", "Risks of classification"),
    Entry("plane_logistic_l2", "plane:PAIRS", "003 §6", "Logistic + ridge"),
    Entry("plane_logistic_l1", "plane:PAIRS", "003 §6", "Logistic + lasso"),
    Entry("plane_hinge_l2", "plane:PAIRS", "003 §6", "Hinge + ridge"),
    Entry("plane_hinge_l1", "plane:PAIRS", "003 §6", "Hinge + lasso"),
    Entry("mpg_squared_l2", "data_paths:MPG", "003 §4", "Auto MPG: least squares + ridge"),
    Entry("mpg_squared_l1", "data_paths:MPG", "003 §4", "Auto MPG: least squares + lasso"),
    Entry("mpg_absolute_l2", "data_paths:MPG", "003 §4", "Auto MPG: least absolute deviation + ridge"),
    Entry("mpg_absolute_l1", "data_paths:MPG", "003 §4", "Auto MPG: least absolute deviation + lasso"),
    Entry("spect_logistic_l2", "data_paths:HEART", "003 §6", "SPECT heart: logistic + ridge"),
    Entry("spect_logistic_l1", "data_paths:HEART", "003 §6", "SPECT heart: logistic + lasso"),
    Entry("spect_hinge_l2", "data_paths:HEART", "003 §6", "SPECT heart: hinge + ridge"),
    Entry("spect_hinge_l1", "data_paths:HEART", "003 §6", "SPECT heart: hinge + lasso"),
    Entry("mnist_examples", "digits:examples", "003 §9", "MNIST: images of 0 and 1"),
    Entry("mnist_hinge_l2", "digits:WEIGHTS", "003 §9", "MNIST 0 against 1: ridge"),
    Entry("mnist_hinge_l1", "digits:WEIGHTS", "003 §9", "MNIST 0 against 1: lasso"),
    Entry("svm_margins", "machines:margins", "000 fig. 6.11, 6.12; 004", "Hard and soft margin"),
    Entry("perceptron", "machines:perceptron", "000 fig. 6.10; 004", "Perceptron and largest margin"),
    Entry("kernels", "machines:kernels", "002; 004", "Kernel machines in the plane"),
    Entry("tube", "machines:tube", "002", "Support vector regression"),
    Entry("subgradients_hinge", "subgradients:hinge", "000 fig. 6.8; 002", "Subgradients of the hinge"),
    Entry("subgradients_absolute", "subgradients:absolute", "002", "Subgradients of |x|"),
    Entry("step_sizes", "descent:step_sizes", "000 fig. 6.7; 004", "Step sizes on a bowl"),
    Entry("step_rules", "descent:step_rules", "002; 004", "Rules for the length of a step"),
    Entry("race_ridge", "races:DRAWN", "000 §6.6", "Race: least squares + ridge"),
    Entry("race_logistic", "races:DRAWN", "002; 003 §8; 004", "Race: logistic + ridge"),
    Entry("race_hinge", "races:DRAWN", "000 §6.5; 002; 003 §8; 004", "Race: hinge + ridge"),
    Entry("race_lasso", "races:DRAWN", "003 §8", "Race: least squares + lasso"),
    Entry("race_budget", "races:DRAWN", "003 §8", "Race: logistic under an l1 budget"),
)


def catalogue() -> dict[str, Entry]:
    """All figures by name, in the order of the index page."""
    return {entry.name: entry for entry in ENTRIES}


def entries(names: Sequence[str]) -> list[Entry]:
    """Those of these names; all, if there are none."""
    known = catalogue()
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.4)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise DataError(f"There is no figure {name!r}.{hint} Known: {', '.join(known)}.")
    return [known[name] for name in names] if names else list(ENTRIES)
