"""What the rooms of scoring say to each other.

In and out: requests, what a model and a method are (Protocols), how score columns are laid out, shared names.
May use: nothing of scoring.
"""
