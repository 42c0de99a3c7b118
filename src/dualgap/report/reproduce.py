"""How to get the same answer again: the command, the call, the versions."""

from __future__ import annotations

import platform
from importlib import metadata

import numpy as np

from dualgap.files.store import MADE_BY
from dualgap.report.markup import facts, paragraph, safe, section
from dualgap.report.subject import Subject


def again(about: Subject) -> str:
    """The section."""
    command = ""
    if about.origin.command:
        command = f'<p>On the command line:</p><pre tabindex="0">{safe(about.origin.command)}</pre>'
    return section(
        "again",
        "How to get this again",
        command,
        f'<p>In Python:</p><pre tabindex="0">{safe(about.origin.python or _call(about))}</pre>',
        facts([(name, safe(version)) for name, version in _versions()]),
        paragraph("The page is one file: it asks nothing of any server and works without a network.", "soft"),
    )


def _call(about: Subject) -> str:
    terms, search = about.terms, about.search
    words = [f'loss="{terms.loss}"', f'penalty="{terms.penalty}"']
    if search is not None:
        rule = f'"{search.rule}"' if isinstance(search.rule, str) else "…"
        words += [f"cv={search.n_folds}", f'score="{search.score}"', f"rule={rule}"]
        verb = "cross_validate"
    elif about.picked:
        verb = "path"
    else:
        verb = "fit"
        words += _strength(about)
    if not terms.fit_intercept:
        words.append("fit_intercept=False")
    if np.any(terms.scale != 1.0):
        words.append("standardize=True")
    words += ["sample_weight=…"] if np.any(terms.sample_weight != 1.0) else []
    named = "column_groups" if verb == "cross_validate" else "groups"
    words += [f"{named}=…"] if terms.penalty.parts is not None else []
    if terms.offset is not None:
        words.append("offset=" + ("…" if terms.offset_name is None else repr(terms.offset_name)))
    words += ["penalty_factors=…"] if np.any(terms.factors != 1.0) else []
    words += [f"{name}=…" for name in ("bounds", "constraints") if getattr(terms, name) is not None]
    return f"import dualgap as dg\ndg.{verb}(X, y, {', '.join(words)})"


def _strength(about: Subject) -> list[str]:
    terms = about.terms
    if terms.hard:
        return ['C=float("inf")']
    if terms.budget is not None:
        return [f"budget={terms.budget!r}"]
    return [f"lam={terms.lam!r}"] if terms.lam is not None else []


def _versions() -> list[tuple[str, str]]:
    found = [("made by", MADE_BY), ("Python", platform.python_version())]
    return found + [(name, metadata.version(name)) for name in ("numpy", "scipy", "numba")]
