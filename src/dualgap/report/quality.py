"""How well the weights predict: measures beside each other, and pictures of the errors."""

from __future__ import annotations

import numpy as np

from dualgap.losses.base import weighted_quantile
from dualgap.report import classification_errors as classes
from dualgap.report import margins
from dualgap.report import regression_errors as numbers
from dualgap.report.formulas import mean_of
from dualgap.report.markup import charts, grid, number, paragraph, percent, plural, section
from dualgap.report.rows import TEST, PredictedRows, mean_loss
from dualgap.report.subject import Subject


def quality(about: Subject) -> str:
    """The section; empty where no rows were given."""
    shown = [rows for rows in (about.fresh, about.held, about.fitted) if rows is not None]
    judged = about.judged
    if judged is None:
        return ""
    pictures = numbers.pictures if about.solution.classes is None else classes.pictures
    return section(
        "quality",
        "How well it predicts",
        paragraph(_sentence(judged)),
        _measures(about, shown),
        paragraph(f"The pictures are of the {judged.title}: {plural(len(judged), 'row')}."),
        charts(*pictures(about, judged), *margins.pictures(about, judged)),
        classes.confusion(about, judged) if about.solution.classes is not None else "",
        margins.words(about),
    )


def _sentence(judged: PredictedRows) -> str:
    if judged.title == TEST:
        return "Measured on rows that the weights have not seen, beside those of the fit."
    if judged.folds is not None:
        return (
            "Measured on rows held out: every row is predicted by weights that were found without its fold, "
            "at the strength that was chosen. The rows of the fit stand beside them; they flatter the model."
        )
    if judged.title == "rows of the fit":
        return (
            "Measured on the rows of the fit themselves, which flatters the model: on new rows expect it "
            "to be worse, the more so the more columns have a weight."
        )
    return "Measured on the rows given, which are not those of the fit."


def _measures(about: Subject, shown: list[PredictedRows]) -> str:
    columns = [_of(about, rows) for rows in shown]
    lines = [[name, *(column[name] for column in columns)] for name in columns[0]]
    head = ["", *(f"{rows.title}<br><small>{plural(len(rows), 'row')}</small>" for rows in shown)]
    return grid(head, lines, "Measures")


def _of(about: Subject, rows: PredictedRows) -> dict[str, str]:
    loss = {mean_of(about.terms.loss): number(mean_loss(about.solution, rows), 5)}
    return loss | (_of_numbers(about, rows) if about.solution.classes is None else _of_classes(about, rows))


def _of_numbers(about: Subject, rows: PredictedRows) -> dict[str, str]:
    share, error, explained = rows.share, rows.predicted - rows.targets, rows.explained
    found = {} if rows.deviance is None else {"D²": number(rows.deviance, 4)}
    found |= {
        "R²": "the target is constant" if explained is None else number(explained, 4),
        "root mean square error": number(float(np.sqrt(share @ error**2)), 4),
        "mean absolute error": number(float(share @ np.abs(error)), 4),
        "median absolute error": number(weighted_quantile(np.abs(error), share, 0.5), 4),
    }
    if hasattr(about.terms.loss, "q"):
        found["targets at or below the prediction"] = percent(float(share @ (error >= 0.0)))
    return found


def _of_classes(about: Subject, rows: PredictedRows) -> dict[str, str]:
    labels = about.solution.classes
    assert labels is not None
    common = max(float(rows.share @ (rows.targets == k)) for k in range(len(labels)))
    found = {"right": percent(rows.right), "right by always saying the commonest class": percent(common)}
    if rows.scores.ndim == 1:
        found["area under the ROC curve"] = number(rows.area, 4)
    return found
