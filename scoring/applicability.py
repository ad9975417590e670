"""Which of the methods that are asked for apply to items, by their tasks and languages, and the usual methods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.builders.load import is_banked, methods_in_bank, prompt_files_of_bank
from pairbank.errors import ScoringError
from pairbank.scoring.api.names import DIRECT, DIRECT_WB, PMI, REGIONS, SENTENCE, MethodName
from pairbank.scoring.methods.direct import SPANS
from pairbank.scoring.methods.linking_functions import IN_TEMPLATE, LINKING_FUNCTIONS
from pairbank.scoring.methods.registry import FAMILIES, in_order, method_named, multiverse_methods
from pairbank.scoring.prompts.prompt import primary
from pairbank.scoring.prompts.registry import files_not_known, prompts_of

if TYPE_CHECKING:
    import datasets

    from pairbank.scoring.prompts.prompt import Prompt

USUAL = (DIRECT, "meta_question_simple", "acceptability_judgment_i")
"""What items are scored with where nobody says: a forced choice and a judgment beside probabilities."""
USUAL_ELSEWHERE = {"meta_question_simple": "better_sentence", "acceptability_judgment_i": "acceptable_sentence"}
"""The same questions in the items' own language, where there are no English items."""
USUAL_OF_SENTENCES = (DIRECT, "acceptable_sentence", "rating_7")
"""The same of single sentences, in their own language: a judgment and a rating."""
_NEEDS = {
    PMI: "items with a context",
    **dict.fromkeys(IN_TEMPLATE, "English sentences without a context"),
    REGIONS: f"single sentences whose regions are known (a column `{SPANS}`)",
    DIRECT_WB: "items in a language that separates words by spaces",
}
_KIND = ("task", "language")
_MOST_SHOWN = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The methods of a run, and what is to be said of the choice."""

    methods: tuple[str, ...]
    notes: tuple[str, ...] = ()
    prompts: tuple[str | Path, ...] = ()


def methods_of_run(
    corpus: str,
    items: datasets.Dataset,
    asked: Sequence[str] | None,
    *,
    prompts: Sequence[str | Path] = (),
    multiverse: bool = False,
    with_unigrams: bool = False,
    samples: int | None = None,
    temperature: float = 1.0,
) -> Chosen:
    """Return the methods to score a corpus with; a bank's items come with its methods and prompts."""
    if multiverse:
        needed = multiverse_methods(items, with_unigrams=with_unigrams, asked=asked is None)
        asked = list(dict.fromkeys([*needed, *(asked or ())]))
    if samples is not None:
        asked = with_samples(asked or chosen_methods(items, None).methods, samples, temperature, prompts=prompts)
    files = tuple(prompts)
    if is_banked(corpus):
        files += files_not_known(prompt_files_of_bank(corpus), prompts)
        if asked is None:
            before = methods_in_bank(corpus, items["corpus"][0])
            return replace(methods_as_before(items, before, prompts=files), prompts=files)
    return replace(chosen_methods(items, asked, prompts=files), prompts=files)


def chosen_methods(
    items: datasets.Dataset, asked: Sequence[str] | None, *, prompts: Sequence[str | Path] = ()
) -> Chosen:
    kinds = _kinds(items)
    if asked is None:
        return _usual(kinds, corpus=str(items["corpus"][0]))
    known, notes = _known(asked, prompts), []
    for name in in_order(asked, known):
        if name in FAMILIES:
            if name != DIRECT and name not in LINKING_FUNCTIONS and not any(map(method_named(name).applies_to, items)):
                raise ScoringError(f"method {name!r} applies to no item: it needs {_NEEDS[name]}; leave it out")
            continue
        parts = MethodName.parsed(name)
        prompt = known[parts.id]
        n_fitting = _n_fitting(prompt, kinds)
        if not n_fitting:
            raise ScoringError(f"method {name!r} applies to no item: {_why_not(prompt, kinds)}{_others(kinds, known)}")
        if parts.n_shots and all(task == SENTENCE for task, _ in kinds):
            raise ScoringError(
                f"method {name!r} applies to no item: examples are answered pairs, and these are single sentences; use "
                f"{parts.id}"
            )
        if n_fitting < len(items):
            notes.append(
                f"{name} applies to {n_fitting:,} of {len(items):,} items, the others have no score of it: "
                f"{_why_not(prompt, kinds)}"
            )
    return Chosen(methods=tuple(asked), notes=tuple(notes))


def with_samples(
    names: Sequence[str], n_samples: int, temperature: float, *, prompts: Sequence[str | Path] = ()
) -> list[str]:
    """Return methods of which those that write their answers are sampled; the others stay as they are.

    >>> with_samples(["direct", "rating_7_free"], 10, 0.7)
    ['direct', 'rating_7_free@10samples@t0.7']
    """
    parts, known = {name: MethodName.parsed(name) for name in names}, _known(names, prompts)
    in_order(names, known)  # refuses names that do not exist
    writes = [name for name, method in parts.items() if method.id in known and known[method.id].readout == "generation"]
    if not writes:
        raise ScoringError(
            f"--samples draws answers that the model writes, and {', '.join(names)} reads probabilities; add a method "
            "that ends in _free, as in -m rating_7_free or -m yes_no_free"
        )
    return [
        str(replace(method, n_samples=n_samples, temperature=temperature)) if name in writes else name
        for name, method in parts.items()
    ]


def methods_as_before(items: datasets.Dataset, names: Sequence[str], *, prompts: Sequence[str | Path] = ()) -> Chosen:
    """Return the methods that a bank's models were scored with on these items; those that fit no item stay empty."""
    if not names:
        return chosen_methods(items, None, prompts=prompts)
    empty = why_not_asked(items, names, prompts=prompts)
    text = f"methods as in the bank: {', '.join(names)}"
    return Chosen(
        methods=tuple(names), notes=(f"{text} (no score by {', '.join(empty)}: for no item here)" if empty else text,)
    )


def why_not_asked(
    items: datasets.Dataset, methods: Sequence[str], *, prompts: Sequence[str | Path] = ()
) -> dict[str, str]:
    kinds, known = _kinds(items), _known(methods, prompts)
    asked = {name: known[MethodName.parsed(name).id] for name in in_order(methods, known) if name not in FAMILIES}
    return {name: _why_not(prompt, kinds) for name, prompt in asked.items() if not _n_fitting(prompt, kinds)}


def _known(methods: Sequence[str], prompts: Sequence[str | Path]) -> Mapping[str, Prompt]:
    return prompts_of(prompts, asked=[MethodName.parsed(name).id for name in methods if name not in FAMILIES])


def _kinds(items: datasets.Dataset) -> Counter[tuple[str, str]]:
    return Counter(zip(*(items[name][:] for name in _KIND), strict=True))


def _usual(kinds: Mapping[tuple[str, str], int], *, corpus: str) -> Chosen:
    known = prompts_of(())
    of_sentences = all(task == SENTENCE for task, _ in kinds)
    if any(primary(language) == "en" for _, language in kinds):
        return Chosen(methods=USUAL_OF_SENTENCES if of_sentences else USUAL)
    in_their_language = USUAL_OF_SENTENCES[1:] if of_sentences else USUAL_ELSEWHERE.values()
    results = [name for name in in_their_language if _n_fitting(known[name], kinds)]
    if of_sentences and results:
        return Chosen(methods=(DIRECT, *results))
    languages = ", ".join(sorted({language for _, language in kinds}))
    text = (
        f"{corpus} is in {languages}, so it is asked about in its own language: {', '.join(results)} in place of "
        f"{', '.join(USUAL[1:])}"
        if results
        else f"{corpus} is in {languages}, in which no prompt for such items ships with pairbank: {DIRECT} alone "
        "(--prompts takes prompts of your own)"
    )
    return Chosen(methods=(DIRECT, *results), notes=(text,))


def _n_fitting(prompt: Prompt, kinds: Mapping[tuple[str, str], int]) -> int:
    return sum(n for (task, language), n in kinds.items() if prompt.applies_to(task=task, language=language))


def _why_not(prompt: Prompt, kinds: Mapping[tuple[str, str], int]) -> str:
    """Return what a prompt asks about and what the items are that it does not apply to."""
    left = [kind for kind in kinds if not prompt.applies_to(task=kind[0], language=kind[1])]
    others = ", ".join(f"{task} in {language}" for task, language in left[:_MOST_SHOWN])
    more = f" and {len(left) - _MOST_SHOWN} more kinds" if len(left) > _MOST_SHOWN else ""
    many = len(prompt.languages) > _MOST_SHOWN
    languages = f"{len(prompt.languages)} languages" if many else ", ".join(prompt.languages)
    return f"it asks about {', '.join(prompt.tasks)} in {languages}, and these are {others}{more}"


def _others(kinds: Mapping[tuple[str, str], int], known: Mapping[str, Prompt]) -> str:
    fitting = [prompt.id for prompt in known.values() if _n_fitting(prompt, kinds) and prompt.readout == "options"]
    return (
        f"; what applies: {', '.join([DIRECT, *fitting[:_MOST_SHOWN]])} (`pairbank methods --language … --task …`)"
        if fitting
        else f"; what applies: {DIRECT} and its kin (`pairbank methods`)"
    )
