"""scikit-learn estimators over `dualgap.fit`: they check, call and show, and compute nothing themselves."""

from dualgap.estimators.classification import LinearClassifier
from dualgap.estimators.regression import LinearRegressor

__all__ = ["LinearClassifier", "LinearRegressor"]
