"""Predictions of test suites about surprisals."""
