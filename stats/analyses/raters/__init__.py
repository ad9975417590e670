"""Raters beside models."""
