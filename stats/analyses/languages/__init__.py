"""Methods across languages, as He et al. 2025.

In: scored tables of several languages. Out: a section, and the statistics it rests on.
May use: what analyses may.
"""
