"""What a statistic gives: a value, its interval, and why either is missing.

In: arrays. Out: estimates, resamples.
May use: nothing of stats.
"""
