"""Agreement with people: `--analysis people`.

In: scored tables with mean judgments. Out: a report's section.
May use: what any analysis may.
"""
