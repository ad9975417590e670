"""Which methods make a multiverse: in, items; out, names of every method that a study of them could have chosen.

By probability: `direct`, every linking function that can be had, `pmi` where items have a context. Asked: every shipped
prompt for a task and language of these items whose answer is read from probabilities. Prompts for one word, free
generation and the second copy of a paper's prompts (`_paper`: as printed, where its code differs) are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pairbank.errors import ScoringError
from pairbank.scoring.api.names import DIRECT, PMI
from pairbank.scoring.methods.linking_functions import LINKING_FUNCTIONS
from pairbank.scoring.prompts.registry import prompts

if TYPE_CHECKING:
    import datasets

AS_PRINTED = "_paper"


def multiverse_methods(items: datasets.Dataset, *, with_unigrams: bool = False, asked: bool = True) -> list[str]:
    """Return the methods that a multiverse of these items needs.

    Args:
        items: In the shared schema.
        with_unigrams: Whether there are unigram counts, for `slor` and `bayes_unigram`.
        asked: Whether prompts are wanted, or only what needs no question.

    Raises:
        ScoringError: No item has two sides.
    """
    sides = zip(items["task"], items["language"], items["target_bad"], strict=True)
    kinds = dict.fromkeys((task, language) for task, language, bad in sides if bad is not None)
    if not kinds:
        raise ScoringError("no item has two sides, so that nothing can be compared; a multiverse is of pairs")
    results = [DIRECT]
    results += [name for name, entry in LINKING_FUNCTIONS.items() if entry.needs != "unigrams" or with_unigrams]
    results += [PMI] * any(items["context_good"])
    if asked:
        results += [
            prompt.id
            for prompt in prompts().values()
            if prompt.readout == "options" and prompt.kind != "prediction" and not prompt.id.endswith(AS_PRINTED)
            and any(prompt.applies_to(task=task, language=language) for task, language in kinds)
        ]  # fmt: skip
    return results
