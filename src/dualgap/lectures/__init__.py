"""Every figure of the lectures, drawn from this library's own answers.

>>> from dualgap import figures
>>> figures.catalogue()["norm_balls"].title
'Balls of p-norms'

`figures.draw(["norm_balls", "svm_margins"], "folder")` writes them with an index page; without names, all.
"""

from dualgap.lectures.catalogue import Entry, catalogue
from dualgap.lectures.data import MissingDataError
from dualgap.lectures.draw import draw
from dualgap.lectures.drawing import Drawing

__all__ = ["Drawing", "Entry", "MissingDataError", "catalogue", "draw"]
