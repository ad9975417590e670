"""Single sentences, labelled and rated, such as a corpus of acceptability judgments has."""

import datasets

from made_items import made_item
from pairbank.builders.dataset import features
from pairbank.builders.schema.columns import Column

LABEL = Column(name="label", type="int32", nullable=False, meaning="1 = acceptable, 0 = not")
ENGLISH = ("The {} hens cluck.", "The {} hens clucks.")
GERMAN = ("Die {} Hennen gackern.", "Die {} Hennen gackert.")


def labelled(n_pairs: int = 6, *, language: str = "en", corpus: str = "labelled") -> datasets.Dataset:
    texts = GERMAN if language == "de" else ENGLISH
    items = [
        made_item(f"{corpus}/all/{n}-{label}", texts[1 - label].format(n), language=language, extra={"label": label})
        for n in range(n_pairs)
        for label in (1, 0)
    ]
    return datasets.Dataset.from_list([item.row() for item in items], features=features((LABEL,)))


def rated(n: int = 12, *, language: str = "en", corpus: str = "rated-sentences") -> datasets.Dataset:
    """Return sentences with the mean of five ratings from 1 to 7 each, and no label."""
    texts = GERMAN if language == "de" else ENGLISH
    items = [
        made_item(
            f"{corpus}/all/{i}",
            texts[i % 2].format(i),
            language=language,
            human_good=6.0 - 3 * (i % 2) + (i % 5) / 5,
            human_scale="likert7",
            human_n=5,
        )
        for i in range(n)
    ]
    return datasets.Dataset.from_list([item.row() for item in items], features=features())
