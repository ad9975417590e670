"""People as systems: how raters agree with each other, what can be reached, and whether a model is as good as one more.

In: ratings, one a judgment. Out: estimates.
May use: estimates, and the measures beside it.
"""
