"""Does a model's answer follow its own probabilities more than another's? Song, Hu & Mahowald 2025."""
