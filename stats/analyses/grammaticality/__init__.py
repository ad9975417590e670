"""Probability and grammaticality (Hu et al. 2026): `--analysis grammaticality`.

In: scored tables of strings. Out: a report's section.
May use: what any analysis may.
"""
