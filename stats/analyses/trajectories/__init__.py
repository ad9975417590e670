"""Checkpoints of a training run as models.

In: scored tables of models whose step, tokens or words are known. Out: a section of curves, onsets and their order.
May use: estimates, measures, scored_table, figures.
"""
