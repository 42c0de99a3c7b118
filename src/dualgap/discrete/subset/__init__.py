"""Best subset: which columns, proven; with every convex loss.

    selection           what the penalty says: which columns count, their price, their number, the squares;
                        is there anything to choose, and can the columns be told from a constant?
    branch_and_bound    the search that proves; heuristics: those that do not; path: every size in turn

The squared loss needs its Gram matrix alone:

    gram                the problem on unit columns: with the whole matrix, or with rows of it when asked for
    folding             columns that are always in solved for
    squares             the same matrix in integers, for columns that rounding cannot tell apart
    exchange            a good set: greedy, gradient steps, best single moves (loops: exchange_loops)
    gram_search         trees one after the other, what one leaves in doubt searched by the next
    branching           one tree: tree is its loop, split_bound its bound, split the diagonal that bound needs

Every other loss is fitted on sets of columns:

    dual_search         depth first; a branch is dropped by the value of a dual point
    column_fits         fits on a set, and better sets by models of second order
    relaxation          the convex relaxation of a branch: by Newton (row_losses), or from vertex to vertex
    vertices            of piecewise linear losses; dual_simplex is their loop
    node_bound          what a dual point proves, as a real number; or a corner, where no room is left to it
    span                columns that nearly depend on one another, in coordinates that do not
"""
