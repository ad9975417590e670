"""Methods across languages, as He et al. 2025."""
