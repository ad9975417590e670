"""The exact, fast middle: token sequences to log-probabilities.

In: encoded requests and a transformers model. Out: log-probabilities in nats of the tokens that are read.
May use: api.
"""
