"""Probability and grammaticality (Hu et al. 2026): `--analysis grammaticality`."""
