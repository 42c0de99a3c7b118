"""From files of rows to a matrix of numbers, with a recipe that does the same to the next file.

>>> import dualgap as dg
>>> X, y, recipe = dg.tables.read("iris", target="species")
>>> X.shape, recipe.names[0]
((150, 4), 'sepal length (cm)')
"""

from __future__ import annotations

from dualgap.tables.prepare import read
from dualgap.tables.recipe import Recipe, Rule

__all__ = ["Recipe", "Rule", "read"]
