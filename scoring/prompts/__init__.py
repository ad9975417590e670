"""What models are asked: prompts as data (`*.toml`), and the records and checks that read them.

In: TOML files. Out: checked prompts by id, and templates filled with an item's texts.
May use: api.
"""
