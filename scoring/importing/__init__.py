"""Scores computed elsewhere.

In: a wide or long file and a profile or column map. Out: scored tables, one a model, as `score` makes them.
May use: every room of scoring but run's shards.
"""
