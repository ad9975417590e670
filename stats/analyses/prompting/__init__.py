"""Is asking a model a substitute for reading its probabilities? Hu & Levy 2023."""
