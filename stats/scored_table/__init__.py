"""The one way in which statistics see a scored table.

In: a ScoredFrame, one corpus by one model. Out: ScoredTable (rows in order, arrays, groups, what is no choice), and
DeltaStack, the deltas of several models side by side.
May use: estimates, measures.
"""
