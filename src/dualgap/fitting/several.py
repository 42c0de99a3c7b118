"""Several outputs: what they are called, and what cannot be had with them, in one sentence each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dualgap.errors import DataError
from dualgap.fitting.names import loss_named
from dualgap.fitting.signs import refuse_signs
from dualgap.losses import Loss
from dualgap.traits import Trait


def names_of_levels(loss: Loss) -> tuple[str, ...] | None:
    """The quantiles, where the loss has several predictions for each row."""
    return tuple(str(one) for one in loss.each) or None


def refuse_columns(loss: Loss) -> None:
    """Several targets with several predictions for each."""
    if loss.each:
        raise DataError(
            f"{loss} predicts {len(loss.each)} numbers for one target; y has several columns. "
            "Fit them one by one."
        )


def refuse_several(loss: Any, where: str) -> None:
    """Several quantiles of one target, where there is room for one prediction."""
    if loss_named(loss).each:
        raise DataError(f"Several quantiles at once are for dg.fit of rows in memory, not for {where}.")


def one_output(solution: Any, what: str) -> None:
    """What is told of one output alone says so."""
    if solution.outputs is not None:
        raise DataError(
            f"{what} of one output, and this fit has {len(solution.outputs)}: fit the one that it is to be "
            "of alone."
        )


def several_columns(y: Any) -> bool:
    """Is y more than one column, wherever it lives?"""
    shape = tuple(getattr(y, "shape", ()))
    return len(shape) == 2 and int(shape[1]) > 1


def with_crossing(loss: Loss, crossing: Any) -> Loss:
    """The loss as `crossing=` says; it is for quantiles(...) alone."""
    if crossing is None:
        return loss
    if not hasattr(loss, "crossing"):
        raise DataError(f'crossing= is for loss="quantiles(0.1, 0.5, 0.9)" and the like, not for {loss}.')
    if crossing not in (True, False):
        raise DataError(f"crossing must be True or False, not {crossing!r}.")
    found: Loss = replace(loss, crossing=bool(crossing))  # type: ignore[type-var]
    return found


def refuse_outputs(terms: Any) -> None:
    """Several outputs are for convex problems; those that are tied to each other have more to ask."""
    loss, gauge = terms.loss, terms.penalty.gauge(terms.factors, terms.scale)
    if Trait.CONVEX not in loss.traits & gauge.traits:
        raise DataError(
            f"Several outputs are for convex losses and penalties; {loss} with {terms.penalty} is searched: "
            "fit the columns of y one by one."
        )
    if terms.penalty.joint:
        refuse_signs(
            terms, f"{terms.penalty.name} over several outputs", "choose l1, which prices each weight."
        )
    if not loss.joint:
        return
    refuse_signs(terms, "quantiles that do not cross", "say crossing=True for each on its own.")
    if terms.offset is not None:
        raise DataError("offset= cannot be had with quantiles that do not cross; subtract it from y.")
    if terms.penalty.takes_strength and gauge.elastic is None:
        raise DataError(
            f"Quantiles that do not cross go with none, l1, l2 and elastic_net, not with {terms.penalty}; "
            "say crossing=True for each on its own."
        )


def joint(terms: Any) -> bool:
    """Are the outputs tied to each other, by the penalty or by the loss?"""
    return bool(terms.penalty.joint or terms.loss.joint)
