"""BibTeX of papers that several corpora share."""

from __future__ import annotations

HU_LEVY_2023 = """@inproceedings{hu2023prompting,
  author = {Hu, Jennifer and Levy, Roger},
  title = {Prompting is not a substitute for probability measurements in large language models},
  booktitle = {Proceedings of EMNLP}, pages = {5040--5060}, year = {2023},
  doi = {10.18653/v1/2023.emnlp-main.306}
}"""

SONG_2025 = """@inproceedings{song2025introspect,
  author = {Song, Siyuan and Hu, Jennifer and Mahowald, Kyle},
  title = {Language models fail to introspect about their knowledge of language},
  booktitle = {Conference on Language Modeling}, year = {2025}, eprint = {2503.07513}, archiveprefix = {arXiv}
}"""
