"""What commands give to the terminal, and to programs.

In: texts, tables, reports, progress. Out: the standard output (results alone) and the standard error (everything else).
May use the stages; the commands stand above it.
"""
