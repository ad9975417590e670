"""A run over items: shards, each computed once, and the store that a stopped run continues from."""
