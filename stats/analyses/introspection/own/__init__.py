"""Do a model's answers follow its own probabilities beyond those of its relatives? Ours.

In: stacked deltas and declared features. Out: advantages, partial correlations, and what may be said of them.
May use: what analyses may.
"""
