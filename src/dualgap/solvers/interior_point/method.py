"""The loop: predict, choose how much to centre, correct, step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dualgap.arrays import Vector
from dualgap.problem.problem import Problem
from dualgap.solvers.base import Iterate
from dualgap.solvers.interior_point.rows import rows
from dualgap.solvers.interior_point.system import Bordered, System, Tall, Wide
from dualgap.solvers.interior_point.weights import weights

ITERATIONS = 100
CORR=[1]
FACTOR = [10.0]


class Method:
    """State of one run."""

    def __init__(self, problem: Problem, start: Iterate) -> None:
        self.problem = problem
        half = weights(problem.regulariser)
        assert half is not None
        self.rows, self.weights = rows(problem), half
        self.count = self.rows.count + self.weights.count
        self.mu = FACTOR[0] * problem.null / max(self.count, 1)
        self.w, slack, price = self.weights.start(start.w, self.mu)
        self.z = problem.design.matvec(self.w)
        first = self.rows.start(self.z, self.mu)
        self.slack, self.price = np.concatenate([first[0], slack]), np.concatenate([first[1], price])
        cut = self.rows.count
        self.rows.bind(self.slack[:cut], self.price[:cut])
        self.weights.bind(self.slack[cut:], self.price[cut:])
        self.linked = self.rows.linked or self.weights.linked
        design = problem.design
        system: System = Wide(design, self.weights.free) if problem.p > problem.n else Tall(design)
        self.system = Bordered(system, design)
        self.log=[]; self.floor=1e-16*problem.null

    def run(self) -> Iterator[Iterate]:
        short = 0
        yield Iterate(self.w, np.zeros_like(self.z), self.z)
        for _ in range(ITERATIONS):
            self.g, h = self.rows.linearise(self.z)
            r, diagonal, border = self.weights.linearise(self.w)
            if _: yield Iterate(self.w, -self.g, self.z)
            self.residual = self.problem.design.transpose_matvec(self.g) + r
            self.system.factorise(h, diagonal, border)
            primal, dual = self._advance(h, diagonal)
            short = short + 1 if max(primal, dual) < 1e-10 or 0<self.mu*self.count<=4*self.floor else 0
            if short > 5:
                return
        self.g, h = self.rows.linearise(self.z)
        yield Iterate(self.w, -self.g, self.z)

    def _advance(self, h, diagonal):
        product = self.slack * self.price
        total = float(product.sum())
        mu = total / self.count if self.count else 0.0
        sigma = 0.0
        aim = -product
        out = self._direction(aim)
        if self.count:
            primal, dual = self._steps(out, 1.0)
            weight = primal*dual
            after = float((self.slack + primal * out[0]) @ (self.price + dual * out[1]))
            sigma = min(max((after / total) ** 3, 1e-4), 0.8)
            self.mu=max(sigma*mu,self.floor/self.count); first=out
            c=CORR[0]
            w1,w2={0:(1,1),1:(weight,weight),2:(1,weight),3:(1,1),4:(1,1),5:(1,weight)}[c]
            out = self._direction(self.mu - product - w1 * first[0] * first[1], w2, first)
            if c>=3:
                p1,d1=self._steps(out,1.0)
                if p1*d1 < (.25 if c!=4 else 1.)*weight:
                    o2=self._direction(self.mu - product - weight * first[0] * first[1], weight, first)
                    p2,d2=self._steps(o2,1.0)
                    if p2*d2>p1*d1: out=o2
                    else: self._direction(self.mu - product - w1 * first[0] * first[1], w2, first)
        primal, dual = self._steps(out, 0.995)
        dslack, dprice, dz, dw, _ = out
        decrease = float(dz @ (h * dz) + dw @ (diagonal * dw))
        step = self.rows.longest(dz, primal, decrease)
        if step < primal:
            primal, dual = step, min(dual, step)
        self.log.append((mu, sigma, primal, dual, np.abs(self.residual).max()))
        self.slack += primal * dslack
        self.price += dual * dprice
        self.rows.advance(dual)
        self.weights.advance(primal, dual)
        self.w = self.w + primal * dw
        self.z = self.problem.design.matvec(self.w)
        return primal, dual

    def _direction(self, aim: Vector, weight=0.0, first=None):
        cut = self.rows.count
        k = self.rows.offset(aim[:cut])
        constant, right = self.weights.constant(aim[cut:], weight, first)
        _, dz, dw, ds = self.system.solve(k, -(self.residual + constant), right)
        f1, second = self.rows.directions(dz), self.weights.directions(dw, ds)
        return np.concatenate([f1[0], second[0]]), np.concatenate([f1[1], second[1]]), dz, dw, ds

    def _steps(self, out, share):
        primal, dual = _longest(self.slack, out[0], share), _longest(self.price, out[1], share)
        if self.linked:
            primal = dual = min(primal, dual)
        return primal, dual


def _longest(values: Vector, change: Vector, share: float) -> float:
    """The largest step in [0, 1] that keeps `share` of the way to the boundary."""
    if not len(values):
        return 1.0
    fastest = float((change / values).min())
    return 1.0 if fastest >= -share else -share / fastest
