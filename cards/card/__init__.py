"""The dataset card.

In: a bank's manifest and summary. Out: the page that people and `load_dataset` read, and whether its figures are right.
May use: bank.
"""
