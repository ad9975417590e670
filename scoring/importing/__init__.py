"""Scores computed elsewhere.

In: a wide or long file, a profile or column map, and what kind of scores they are. Out: scored tables, one a model.
May use: every room of scoring but run's shards.
"""
