"""What probes found in hidden states, as He et al. 2025.

In: scores of probes by layer and fold. Out: tables, and a section.
May use: what analyses may.
"""
