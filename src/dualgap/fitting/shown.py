"""Numbers as people write them."""

from __future__ import annotations

from typing import Any

import numpy as np

PLAIN = 1e9  # a choice: up to there digits are easier to read than powers of ten


def shown(value: Any, digits: int = 5) -> str:
    """A value of a column or a prediction: 249010, not 2.4901e+05; what is no fraction as it is."""
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    text = f"{number:.{digits}g}"
    return f"{float(text):.0f}" if "e" in text and 1.0 <= abs(number) < PLAIN else text
