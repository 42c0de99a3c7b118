"""What a model file says of several outputs: their names, and the levels of quantiles."""

from __future__ import annotations

from typing import Any

from dualgap import losses
from dualgap.files.fields import Fields
from dualgap.losses import Loss


def levels_fields(loss: Loss) -> dict[str, Any] | None:
    """A loss of several predictions by its levels; None for any other."""
    if not loss.each:
        return None
    found: Any = loss
    return {"name": loss.name, "levels": list(found.levels), "crossing": bool(found.crossing)}


def read_levels(part: Fields) -> Loss | None:
    """The same read again."""
    kind = losses.OF_SEVERAL.get(str(part.values.get("name")))
    if kind is None:
        return None
    return kind(tuple(part.array("levels", (None,)).tolist()), crossing=part.flag("crossing"))


def read_outputs(top: Fields, loss: Loss) -> tuple[str, ...] | None:
    """What the predictions of a row are called; None where there is one."""
    if not top.has("outputs"):
        if loss.each:
            raise top.refuse("outputs", "the name of each prediction")
        return None
    names = top.texts("outputs")
    if len(names) < 2 or (loss.each and len(names) != len(loss.each)):
        raise top.refuse("outputs", f"{len(loss.each) or 'two or more'} names")
    return names
