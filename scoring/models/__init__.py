"""Models that can be scored: loading, tokens, and one scorer a kind of model.

In: a name and options. Out: a scorer (`api.model.Scorer`), what it writes, its hidden states, and whether it is exact.
May use: api, engine.
"""
