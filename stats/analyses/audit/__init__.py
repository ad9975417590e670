"""Common artefacts in scored tables."""
