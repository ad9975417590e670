"""Figures: their look, the kinds there are, and what several analyses draw alike.

In: tidy tables. Out: figures with captions, drawn when saved.
May use: estimates, scored_table.
"""
