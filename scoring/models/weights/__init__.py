"""The files of a model: what tells them from those of every other, and what is wrong with them.

In: a folder, or what loading it raised. Out: a fingerprint; errors with a remedy.
May use: api.
"""
