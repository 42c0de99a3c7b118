"""What one case of the attack comes to, and how the library is called in it."""

from __future__ import annotations

import contextlib
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import dualgap as dg
from exact.judge import Question, Verdict, judge_direction

REFUSALS = (dg.errors.DataError, dg.errors.NoSolverError)


@dataclass
class Trial:
    """The verdict with what the data were and how the library ended."""

    verdict: Verdict = field(default_factory=Verdict)
    kind: str = ""
    state: str = "refused"
    asked: Any = None  # X, y and the keywords, for whoever looks at one case

    def crash(self, error: BaseException) -> None:
        """Anything but a refusal in the library's own words."""
        self.state = "crash"
        frames = traceback.extract_tb(error.__traceback__)
        where = f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else "?"
        self.verdict.claim("crash", False, f"{type(error).__name__} at {where}: {str(error)[:200]}")


def attempt(trial: Trial, call: Callable[[], Any], question: Callable[[], Question] | None = None) -> Any:
    """What the call returns; None where it refuses (which is judged where it claims something) or breaks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call()
        except REFUSALS:
            trial.state = "refused"
        except dg.errors.UnboundedError as error:
            trial.state = "no minimiser"
            if question is not None:
                judge_no_minimiser(trial.verdict, question(), error)
        except dg.errors.InfeasibleError:
            raise
        except (TimeoutError, KeyboardInterrupt):
            raise
        except Exception as error:  # every other kind is a finding
            trial.crash(error)
    return None


def judge_no_minimiser(verdict: Verdict, question: Question, error: dg.errors.UnboundedError) -> None:
    """The direction that the error carries; where each class has its own problem, that of one of them."""
    found = []
    for statement in question.statements:
        one = Verdict()
        with contextlib.suppress(ValueError):
            judge_direction(one, statement, error.direction, error.intercept)
        found.append(one)
        if one.judged and not one.false:
            break
    verdict.absorb(found[-1])
