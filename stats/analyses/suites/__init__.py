"""Predictions of test suites about surprisals.

In: scored tables with the log-probability of each region of a sentence in several conditions. Out: a section.
May use: estimates, measures, scored_table, figures.
"""
