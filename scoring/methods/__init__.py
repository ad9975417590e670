"""Ways of getting a preference out of a model: an item to requests, and their answers to the item's new columns."""
