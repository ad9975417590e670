"""Scores computed elsewhere: files and a profile to scored tables, one a model."""
