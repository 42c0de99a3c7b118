"""Many strengths on the same rows of a device: their weights are a table, and X is read for all at once.

Newton on a sample, each strength with its own curvature; then rounds over all rows, until every gradient is
as good as proven. What comes out is where each strength's own pursuit starts, which then has little more to
do than to prove it. Z = WXᵀ is a row for each strength, so that targets and weights of rows broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dualgap.arrays import Matrix, Vector
from dualgap.device.arrivals import free_bytes
from dualgap.losses import Loss
from dualgap.solvers.metrics import Metric, Plain, Priced
from dualgap.streaming.resident import LEVEL, MANY, SAMPLE, STEPS, NearStart, ResidentTask, null_of, seeming

FEWER = 200  # rows for each column of the sample, where there are not so many that a thousand are taken
ROUGH = 0.1  # of a weight's standard error: where the sample's fits may end
ROUNDS = 6  # over all rows, at most: two or three were counted
ENOUGH = 0.1  # of the gap wanted: where a strength needs no further round
LEVELS = 30  # steps to the best intercept, at most: three or four where the last one was near
TABLES = 8  # of a number for each row and strength that are held at a time
BESIDE = 1 << 25  # numbers: what these take is no more than X has, or than this
HALVES = 20  # of a step that went too far


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows there, or some of them: products with tables, targets, weights that sum to one."""

    matrix: Any
    y: Any
    a: Any

    def levelled(self, loss: Loss, Z: Any, level: Any, enough: float) -> Any:
        """The best intercept of each row of Z: Newton within a bracket."""
        torch, y = self.matrix.torch, self.y
        low, high = torch.full_like(level, -np.inf), torch.full_like(level, np.inf)
        for _ in range(LEVELS):
            z = Z + level[:, None]
            u = loss.derivative(y.expand_as(z), z) * self.a
            slope, size = u.sum(1), u.abs().sum(1)
            there = slope.abs() <= enough * size
            if bool(there.all()):
                break
            bend = (loss.second_derivative(y.expand_as(z), z) * self.a).sum(1)
            low, high = torch.where(slope < 0.0, level, low), torch.where(slope < 0.0, high, level)
            ahead = level - torch.where(bend > 0.0, slope / bend.clamp(min=1e-300), slope.sign())
            half = torch.where(torch.isfinite(low + high), 0.5 * (low + high), level - slope.sign())
            ahead = torch.where((low < ahead) & (ahead < high), ahead, half)
            level = torch.where(there, level, ahead)
        return level


class StrengthTable:
    """Problems that differ in their prices alone."""

    def __init__(self, matrix: Any, tasks: Sequence[ResidentTask]) -> None:
        self.matrix, self.task, self.tasks = matrix, tasks[0], tasks
        self.loss, self.tied = self.task.statement.loss, self.task.statement.intercept
        prices = [task.prices for task in tasks]
        self.price = np.array([one for one, _ in prices])
        self.ridge = np.array([other for _, other in prices])
        n, p = matrix.shape
        room = min(
            float(max(n * p, BESIDE)), free_bytes(matrix.place) / 16.0
        )  # half of what is free, at most
        self.width = max(1, int(room // (TABLES * n)))  # strengths at a time
        m = min(n, (SAMPLE if n >= MANY * p else FEWER) * p)
        rows = matrix.drawn(m)
        self.A = matrix.gathered(rows)
        self.some = self._rows(rows)
        self.all = self._rows(None)

    def _rows(self, rows: Any) -> TableRows:
        y, s = self.task.y, self.task.weight
        y, s = (y, s) if rows is None else (y[rows], None if s is None else s[rows])
        return TableRows(self.matrix, y, 1.0 / len(y) if s is None else s / s.sum())

    def starts(self, near: tuple[Matrix, Vector] | None = None) -> list[NearStart]:
        """Weights, intercept and metric of each strength, and the objective without columns.

        `near`: weights and intercepts of the same strengths on nearly the same rows, as those of another
        fold; then the sample is asked for curvature alone.
        """
        first = self.matrix.here(np.zeros(1))
        level = first
        if self.tied:
            nothing = self.matrix.here(np.zeros(len(self.some.y)))[None]
            level = self.some.levelled(self.loss, nothing, first, 1e-6)
        null = null_of(self.task, float(level[0]))
        found: list[NearStart] = []
        for i in range(0, len(self.tasks), self.width):
            which = slice(i, i + self.width)
            before = None if near is None else (near[0][which], near[1][which])
            found += self._group(which, found[-1] if found else None, before, float(level[0]), null)
        return found

    def _group(
        self,
        which: slice,
        last: NearStart | None,
        near: tuple[Matrix, Vector] | None,
        level: float,
        null: float,
    ) -> list[NearStart]:
        """Some strengths together; `last` is where the one before them starts."""
        price, ridge = self.price[which], self.ridge[which]
        if near is not None:
            W, b = near[0].copy(), self.matrix.here(near[1])
            H = self._curved(W, b)
        else:
            W = np.zeros(price.shape) if last is None else np.tile(last.coef, (len(price), 1))
            b = self.matrix.here(np.full(len(price), level if last is None else last.level))
            W, b, H = self._sampled(W, b, price, ridge)
        metrics = self._metrics(H, price, ridge)
        return self._rounds(which, W, b, metrics, null)

    def _sampled(self, W: Matrix, b: Any, price: Matrix, ridge: Matrix) -> tuple[Matrix, Any, Any]:
        """Newton on the sample, halving where an objective rises; the last curvatures."""
        rows, here = self.some, self.matrix.here
        enough = ROUGH * W.shape[1] / len(rows.y)
        value, step, halves = np.full(len(W), np.inf), np.zeros(W.shape), 0
        for k in range(STEPS + HALVES):
            Z = here(W) @ self.A.T
            if self.tied:
                b = rows.levelled(self.loss, Z, b, 1e-4)
                Z = Z + b[:, None]
            y = rows.y.expand_as(Z)
            now = self.matrix.host((self.loss.value(y, Z) * rows.a).sum(1))
            now = now + (price * abs(W)).sum(1) + 0.5 * (ridge * W * W).sum(1)
            worse = ~(now <= value * (1.0 + 1e-9))
            if worse.any() and halves < HALVES:
                step = np.where(worse[:, None], 0.5 * step, 0.0)
                W, halves = W - step, halves + 1
                continue
            U = self.loss.derivative(y, Z) * rows.a
            g = self.matrix.host(U @ self.A)
            H = self._grams(self.loss.second_derivative(y, Z) * rows.a)
            metrics = self._metrics(H, price, ridge)
            step = np.array([one.step(*at) for one, *at in zip(metrics, g, W, strict=True)])
            promise = -((g + ridge * W) * step).sum(1) + (price * (abs(W) - abs(W + step))).sum(1)
            value, W, halves = now, W + step, 0
            if k >= STEPS or np.all(promise <= enough * abs(now)):
                break
        return W, b, H

    def _curved(self, W: Matrix, b: Any) -> Any:
        """The sample's curvatures at some weights."""
        rows = self.some
        Z = self.matrix.here(W) @ self.A.T + b[:, None]
        return self._grams(self.loss.second_derivative(rows.y.expand_as(Z), Z) * rows.a)

    def _grams(self, h: Any) -> Any:
        """Σ h xxᵀ for every row of h, the constant eliminated."""
        H = self.matrix.rough_grams(self.A, h)
        if self.tied:
            c, whole = h @ self.A, h.sum(1).clamp(min=1e-300)
            H = H - c[:, :, None] * (c / whole[:, None])[:, None, :]
        return H

    def _metrics(self, H: Any, price: Matrix, ridge: Matrix) -> list[Metric]:
        """Models with these curvatures."""
        if price.any():
            kept = self.matrix.host(H)
            return [Priced(*one) for one in zip(kept, ridge, price, strict=True)]
        inverse = self.matrix.host(self.matrix.inverses(H, ridge))
        return [Plain(one.__matmul__, own) for one, own in zip(inverse, ridge, strict=True)]

    def _rounds(self, which: slice, W: Matrix, b: Any, metrics: list[Metric], null: float) -> list[NearStart]:
        """Passes over all rows, each for all strengths that still need one."""
        tasks, matrix, rows = self.tasks[which], self.matrix, self.all
        best, kept = np.full(len(W), np.inf), [(W[k], float(b[k])) for k in range(len(W))]
        live, W = list(range(len(W))), W.copy()
        before: dict[int, tuple[Vector, Vector]] = {}
        for _ in range(ROUNDS):
            Z, level = matrix.products(matrix.here(W[live])), b[matrix.index(live)]
            if self.tied:
                level = rows.levelled(self.loss, Z, level, LEVEL * self.task.tolerance)
                b[matrix.index(live)] = level
            Z = Z + level[:, None]
            y = rows.y.expand_as(Z)
            U = self.loss.derivative(y, Z) * rows.a
            risk = (self.loss.value(y, Z) * rows.a).sum(1)
            told = matrix.host(matrix.torch.cat([matrix.pulled(U.T).T, risk[:, None], level[:, None]], dim=1))
            going: list[int] = []
            for k, line in zip(live, told, strict=True):
                g, w = line[:-2], W[k]
                objective = line[-2] + float(tasks[k].priced(w))
                _, gap = seeming(tasks[k], w, g, objective)
                if not gap < best[k]:
                    continue
                best[k], kept[k] = gap, (w.copy(), float(line[-1]))
                if k in before:
                    metrics[k].learn(w - before[k][0], g - before[k][1])
                before[k] = (w.copy(), g)
                if gap > ENOUGH * tasks[k].tolerance * max(objective, 1e-4 * null):
                    W[k] = w + metrics[k].step(g, w)
                    going.append(k)
            if not going:
                break
            live = going
        return [NearStart(coef, level, one, null) for (coef, level), one in zip(kept, metrics, strict=True)]
