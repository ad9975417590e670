"""A prompt file such as a user writes, for the tests to change."""

BOTH_ORDERS = """
[[prompts]]
id = "mine"
design = "both_orders"
paper = "none"
tasks = ["sentence_pair"]
languages = ["en"]
options = ["A", "B"]
template = "A: {first} B: {second}"
"""
