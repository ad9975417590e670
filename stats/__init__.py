"""Scored tables in, named estimates with intervals out. Importing it loads nothing; each name does when it is used."""

from __future__ import annotations

from pairbank.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
