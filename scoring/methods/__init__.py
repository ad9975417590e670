"""Ways of getting a preference out of a model.

In: an item and a scorer. Out: requests, and from their log-probabilities the item's new columns.
May use: api, models, prompts.
"""
