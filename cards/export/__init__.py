"""Scored tables in other people's formats, a module a format.

In: scored tables. Out: a folder of files. May use: bank's redistribution, stats' report.
"""
