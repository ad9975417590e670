"""The Hub: a repository's files, one commit that changes them, benchmark metadata, the Space.

In: files here and there. Out: changes, commits.
May use: bank, card.
"""
