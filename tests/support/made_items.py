"""Items in one line: what an item's id and texts tell need not be said again."""

from typing import Any

from pairbank.builders.schema.columns import Item


def made_item(item_id: str, good: str, bad: str | None = None, **fields: Any) -> Item:  # noqa: ANN401 - of an item
    """Return the item `corpus/subset/…`, an English sentence or a pair of them, but for what `fields` say."""
    corpus, *subset = item_id.split("/", 2)[:-1]
    told = {"corpus": corpus, "subset": subset[0] if subset else "all", "language": "en"}
    told |= {"task": "sentence"} if bad is None else {"task": "sentence_pair", "context_bad": ""}
    return Item(item_id=item_id, target_good=good, target_bad=bad, **{**told, **fields})
