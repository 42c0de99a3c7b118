"""The zero_one loss: which side of a plane each row is on, proven.

plane_search        what the searches share: penalties that scaling undoes, planes made into weights; and
                    local_planes, few errors by convex fits and exact searches along lines (line_walk)
sides               distinct rows, what each side costs, planes between them, rows that none separates
arrangement         every cell that the rows cut out, in few dimensions; cells is the loop; what rounding
                    hides from it is swept again, in integers. And hitting_set, in any dimension:
cover               the cheapest rows that hit every subset which cannot be right
column_branching    the same with a count of columns: branches on the columns
"""
