"""A run over items: shards, and the store that a stopped run continues from.

In: items, methods, a scorer. Out: tables of the new columns, each computed once and kept.
May use: api, engine, models, prompts, methods.
"""
