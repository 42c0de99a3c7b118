"""The part of a model file that tells θ as a rule: written, and read with suspicion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dualgap.files.fields import Fields
from dualgap.losses import Loss
from dualgap.losses.shifted import without_offset
from dualgap.streaming.far import NearBend
from dualgap.streaming.rules import AffineSlopes, CurvedSlopes, JointSlopes, PieceSlopes, SlopeAt
from dualgap.traits import Trait

KINDS = ("nothing", "affine", "curved", "joint", "pieces", "slope")
WEIGHTS = {
    "affine": ("shift", "kappa"),
    "curved": ("w", "ahead", "base", "centre", "scale"),
    "joint": ("w", "ahead", "base"),
    "pieces": ("w",),
    "slope": ("w",),
}


def rule_fields(rule: Any, array: Any) -> dict[str, Any]:
    """A rule by its kind and its numbers; `array` writes those."""
    if rule is None:
        return {"kind": "nothing"}
    found: dict[str, Any] = {"kind": rule.kind}
    found |= {name: array(getattr(rule, name)) for name in WEIGHTS[rule.kind]}
    if rule.kind == "curved":
        found |= {"tau": float(rule.tau), "rho": float(rule.rho)}
        if rule.hair > 0.0:
            found |= {"hair": float(rule.hair)}
        if rule.apart is not None:
            found |= {
                "columns": array(np.asarray(rule.columns, dtype=np.float64)),
                "apart": array(rule.apart),
            }
        if rule.near is not None:
            found |= {"pin": array(rule.near.w), "reach": float(rule.near.reach)}
    if rule.kind in ("slope", "joint"):
        found |= {"tau": float(rule.tau)}
    if rule.kind == "pieces":
        numbers = np.asarray(rule.numbers, dtype=np.float64)  # rows are counted exactly up to 2⁵³
        found |= {"groups": array(rule.groups), "numbers": array(numbers), "own": array(rule.own)}
    return found


def read_rule(part: Fields, loss: Loss, p: int, classes: int = 0) -> Any:
    """The rule, of so many classes jointly where there are any; what it proves is for a scan to say."""
    kind = part.one_of("kind", KINDS)
    if kind == "nothing":
        return None
    if (kind == "joint") != (classes > 0):
        raise part.refuse("kind", "joint for all classes together, and for nothing else")
    if kind == "joint":
        w, ahead, base = (part.array(name, (classes, p + 1)) for name in WEIGHTS[kind])
        return JointSlopes(w, ahead, base, part.number("tau", low=0.0))
    if kind == "affine":
        return AffineSlopes(part.array("shift", (p + 1,)), part.array("kappa", (p + 2,)))
    whole = part.array("w", (p + 1,))
    if kind == "slope":
        return SlopeAt(loss, whole, part.number("tau", low=0.0))
    return _curved(part, loss, whole) if kind == "curved" else _pieces(part, loss, whole)


def _curved(part: Fields, loss: Loss, whole: Any) -> CurvedSlopes:
    p = len(whole) - 1
    if Trait.SMOOTH not in loss.traits:
        raise part.refuse("kind", "pieces, for the loss is not smooth")
    ahead, base = (part.array(name, (p + 1,)) for name in ("ahead", "base"))
    centre, scale = (part.array(name, (p,)) for name in ("centre", "scale"))
    if not np.all(scale >= 0.0):
        raise part.refuse("scale", "numbers that are not negative")
    tau, rho = part.number("tau", low=0.0), part.number("rho", low=0.0)
    hair = part.number("hair", low=0.0) if part.has("hair") else 0.0
    found = CurvedSlopes(loss, whole, ahead, base, tau, centre, scale, rho, hair=hair)
    if not part.has("apart"):
        return found
    columns = part.array("columns", (None,))
    if not np.all((columns >= 0.0) & (columns < p) & (columns == np.floor(columns))):
        raise part.refuse("columns", f"numbers of columns below {p}")
    found = replace(found, columns=columns.astype(np.intp), apart=part.array("apart", (p + 1,)))
    if not part.has("pin"):
        return found
    if Trait.PIECEWISE_QUADRATIC not in loss.traits:
        raise part.refuse("pin", "nothing, for the loss has no bends")
    near = NearBend(loss, part.array("pin", (p + 1,)), part.number("reach", low=0.0))
    return replace(found, near=near)


def _pieces(part: Fields, loss: Loss, whole: Any) -> PieceSlopes:
    if Trait.PIECEWISE_LINEAR not in loss.traits:
        raise part.refuse("kind", "curved, for the loss is not one of straight pieces")
    numbers, own = part.array("numbers", (None,)), part.array("own", (None,))
    groups = part.array("groups", (_groups(without_offset(loss)),))
    rising = len(numbers) == len(own) and bool(np.all(np.diff(numbers) > 0.0)) and np.all(numbers >= 0.0)
    if not rising or np.any(numbers != np.floor(numbers)):
        raise part.refuse("numbers", "whole numbers that rise, as many as slopes")
    return PieceSlopes(loss, whole, groups, numbers.astype(np.intp), own)


def _groups(loss: Loss) -> int:
    """Pieces of the loss, twice as many with labels."""
    pieces = int(loss.terms(np.ones(1)).kink.shape[1]) + 1
    return 2 * pieces if Trait.CLASSIFICATION in loss.traits else pieces
