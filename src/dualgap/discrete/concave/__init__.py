"""Losses and penalties that bend the wrong way: stationary points, with the bound of a relaxation.

reweighted          powers below one: weighted l1 problems that touch the penalty, again and again
local_linear        penalties that bend and go flat (mcp, scad): the same, from the l1 fit on
folded_descent      the same over dense columns, with smooth losses: by coordinate descent
local_descent       smooth losses that are not convex (sigmoid): proximal steps from several convex fits
"""
