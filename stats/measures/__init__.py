"""The statistics, each a function of arrays.

In: deltas, choices, ratings, labels. Out: estimates.
May use: estimates.
"""
