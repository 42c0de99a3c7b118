"""Model files of LIBLINEAR and LIBSVM: weights and objective, but for C, which neither keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualgap.errors import DataError
from dualgap.fitting.claims import Claim, Fitted
from dualgap.losses import Hinge, Logistic, Loss, SquaredHinge

LIBLINEAR: dict[str, tuple[Loss, float, float]] = {  # loss, and what ‖w‖₁ and ‖w‖² are multiplied with
    **dict.fromkeys(("L2R_LR", "L2R_LR_DUAL"), (Logistic(), 0.0, 0.5)),
    **dict.fromkeys(("L2R_L2LOSS_SVC", "L2R_L2LOSS_SVC_DUAL"), (SquaredHinge(), 0.0, 0.5)),
    "L2R_L1LOSS_SVC_DUAL": (Hinge(), 0.0, 0.5),
    "L1R_L2LOSS_SVC": (SquaredHinge(), 1.0, 0.0),
    "L1R_LR": (Logistic(), 1.0, 0.0),
}


def read_model_file(path: str | Path, C: float | None) -> Fitted:
    """The weights of a model file, and the objective with this C."""
    file = Path(path)
    try:
        lines = file.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read as a model of LIBLINEAR or LIBSVM: {error}.") from None
    split = next((k for k, line in enumerate(lines) if line.strip() in ("w", "SV")), None)
    if split is None:
        raise DataError(f"{file} is no model file of LIBLINEAR or LIBSVM: it has neither a line w nor SV.")
    head = {words[0]: words[1:] for words in map(str.split, lines[:split]) if words}
    if C is None:
        raise DataError(f"{file.name} does not keep its C: certify(X, y, {str(path)!r}, C=...).")
    read = _liblinear if lines[split].strip() == "w" else _libsvm
    try:
        return read(file.name, head, lines[split + 1 :], float(C))
    except (KeyError, IndexError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{file} is a damaged model file: {error}.") from None


def _liblinear(name: str, head: dict[str, list[str]], rows: list[str], C: float) -> Fitted:
    solver = head["solver_type"][0]
    if solver not in LIBLINEAR:
        why = "does not keep its epsilon" if "SVR" in solver else "is another objective than those certified"
        raise DataError(f"{name}: {solver} {why}; give coef, intercept, loss, penalty and C.")
    loss, l1, l2 = LIBLINEAR[solver]
    table = np.array([[float(value) for value in row.split()] for row in rows if row.strip()]).T
    bias = float(head["bias"][0])
    intercept = table[:, -1] * bias if bias >= 0 else np.zeros(len(table))
    coef = table[:, :-1] if bias >= 0 else table
    notes: tuple[str, ...] = ()
    if bias >= 0:
        notes = (
            f"it penalises its intercept b too, like a weight of b/{bias:g}; judged is the objective as "
            "stated, with the intercept free, which is not the one it minimised",
        )
    claim = Claim(loss, l1, l2, C, notes=notes)
    return _fitted(name, claim, head["label"], coef, intercept, fit_intercept=bias >= 0)


def _libsvm(name: str, head: dict[str, list[str]], rows: list[str], C: float) -> Fitted:
    kinds = head["svm_type"][0], head["kernel_type"][0]
    if kinds != ("c_svc", "linear"):
        raise DataError(
            f"{name}: {kinds[0]} with a {kinds[1]} kernel is not certified; c_svc with linear is."
        )
    if len(head["label"]) != 2:
        raise DataError(f"{name}: LIBSVM fits every pair of classes on its own; certify a pair at a time.")
    vectors = [row.split() for row in rows if row.strip()]
    cells = [[one.split(":") for one in words[1:]] for words in vectors]
    width = max((int(j) for row in cells for j, _ in row), default=1)
    coef = np.zeros((1, width))
    for words, row in zip(vectors, cells, strict=True):
        for j, value in row:
            coef[0, int(j) - 1] += float(words[0]) * float(value)
    claim = Claim(Hinge(), 0.0, 0.5, C)
    return _fitted(name, claim, head["label"], coef, np.array([-float(head["rho"][0])]), fit_intercept=True)


def _fitted(
    name: str,
    claim: Claim,
    labels: list[str],
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    *,
    fit_intercept: bool,
) -> Fitted:
    """Classes in their order; the first label of two is the one above zero, here the second is."""
    classes: NDArray[Any] = np.array([float(label) for label in labels])
    order = np.argsort(classes)
    if len(classes) == 2 and len(coef) == 1:
        sign = 1.0 if order[0] == 1 else -1.0
        coef, intercept = sign * coef[0], sign * intercept
    else:
        coef, intercept = coef[order], intercept[order]
    return Fitted(
        name, claim, coef, intercept, fit_intercept, classes[order], None, None, zeros_elsewhere=True
    )
