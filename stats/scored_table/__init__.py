"""How statistics see a scored table.

In: a DataFrame of one corpus and one model, and the layouts of its methods. Out: arrays, groups, and what was left out.
May use: estimates, measures.
"""
