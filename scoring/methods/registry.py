"""Methods by name: `direct`, the prompts of the registry, and how they are asked.

`multiverse_methods` names every method that a study of some items could have chosen: `direct`, every linking function
that can be had, `pmi` where items have a context, and the shipped prompts read from probabilities. Prompts for one
word, free generation and the second copy of a paper's prompts (`_paper`: as printed, where its code differs) are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pairbank.errors import ScoringError, unknown_name
from pairbank.scoring.api.method import Method
from pairbank.scoring.api.model import Scorer
from pairbank.scoring.api.names import DIRECT, DIRECT_WB, MOST_SAMPLES, PMI, PROBES, REGIONS, MethodName
from pairbank.scoring.methods.direct import Direct, Regions, WordProbability
from pairbank.scoring.methods.generated import Generated, Sampled
from pairbank.scoring.methods.linking_functions import IN_TEMPLATE, LINKING_FUNCTIONS, InTemplate, Linked, Pmi, bound
from pairbank.scoring.methods.probe_grammar import ProbeGrammar, bound_probe, text_of
from pairbank.scoring.methods.prompted import Pool, Prompted, Shots
from pairbank.scoring.methods.unigrams import UnigramTables
from pairbank.scoring.prompts.prompt import Prompt
from pairbank.scoring.prompts.registry import prompts

if TYPE_CHECKING:
    import datasets

AS_PRINTED = "_paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodOptions:
    per_token: bool = False
    """Keep the log-probability of each token that `direct` scores."""
    seed: int = 0
    pool: Pool | None = None
    """The items that examples are drawn from."""
    prompts: Mapping[str, Prompt] = field(default_factory=prompts)
    scorer: Scorer | None = None
    unigrams: UnigramTables | None = None
    languages: Collection[str] | None = None
    """Languages of the items, whose counts alone are taken; None = all."""
    probe_text: str | Path | None = None
    """File of the sentences that `probe_grammar` learns from; None = those that are shipped."""


def _linked(name: str, options: MethodOptions) -> Method:
    method = Linked(function=LINKING_FUNCTIONS[name])
    return method if options.scorer is None else bound(method, options.scorer, options.unigrams, options.languages)


def _probe_grammar(name: str, options: MethodOptions) -> Method:
    """Return a probe of perturbed text; without a model it has its columns, but cannot score."""
    method = ProbeGrammar(name=name, text=text_of(options.probe_text))
    return method if options.scorer is None else bound_probe(method, options.scorer)


FAMILIES: Mapping[str, Callable[[str, MethodOptions], Method]] = {
    DIRECT: lambda _name, options: Direct(per_token=options.per_token),
    DIRECT_WB: lambda _name, _options: WordProbability(),
    **dict.fromkeys(LINKING_FUNCTIONS, _linked),
    **dict.fromkeys(IN_TEMPLATE, lambda name, _options: InTemplate(name=name, templates=IN_TEMPLATE[name])),
    PMI: lambda _name, _options: Pmi(),
    REGIONS: lambda _name, _options: Regions(),
    **dict.fromkeys(PROBES, _probe_grammar),
}
"""Methods that are no prompt, by name, in the order of tables."""


def method_named(name: str, *, per_token: bool = False, options: MethodOptions | None = None) -> Method:
    """Return a method: one of `FAMILIES`, or a prompt of the registry (`id`, `id@chat`, `id@4shot`)."""
    options = options or MethodOptions(per_token=per_token)
    if name in FAMILIES:
        return FAMILIES[name](name, options)
    parts = MethodName.parsed(name)
    prompt = options.prompts.get(parts.id)
    if prompt is None:
        raise unknown_name("method", name, [*FAMILIES, *options.prompts])
    if prompt.readout == "generation":
        return _generated(prompt, parts, options.seed)
    if parts.n_samples:
        free = f"{parts.id}_free"
        instead = f"use {free}" if free in options.prompts else "use one that lets the model write (`pairbank methods`)"
        raise ScoringError(
            f"method {name!r}: answers are drawn where the model writes them, and {parts.id} reads the "
            f"probabilities of its options; {instead}"
        )
    shots = Shots(n_shots=parts.n_shots, seed=options.seed, pool=options.pool) if parts.n_shots else None
    if shots and (prompt.kind not in ("forced_choice", "judgment") or prompt.is_fixed_order):
        raise ScoringError(
            f"method {name!r}: only forced choices in both orders and judgments can have examples, and {prompt.id} "
            f"is a {prompt.kind}{' in one fixed order' if prompt.is_fixed_order else ''}; leave "
            f"@{parts.n_shots}shot away"
        )
    return Prompted(prompt, in_chat=parts.in_chat, shots=shots)


def without_model(names: Iterable[str]) -> list[str]:
    """Return the methods whose numbers are kept under the model's vocabulary or states, and not found without it.

    >>> without_model(["direct", "slor", "mean_logprob", "yes_no", "probe_grammar"])
    ['slor', 'probe_grammar']
    """
    needing = {name for name, function in LINKING_FUNCTIONS.items() if function.needs != "nothing"}
    return [name for name in names if name in needing.union(PROBES)]


def cites_of(name: str) -> tuple[str, ...]:
    """Return the keys of the works to cite for a method, as the registry has it; none for one that it does not have."""
    result = MethodName.parsed(name).id
    if result in FAMILIES:
        return tuple(FAMILIES[result](result, MethodOptions()).definition["cites"])
    prompt = prompts().get(result)
    return () if prompt is None else prompt.cites


def _generated(prompt: Prompt, asked: MethodName, seed: int) -> Method:
    if asked.n_shots:
        problem = f"generated answers take no examples; leave @{asked.n_shots}shot away"
        raise ScoringError(f"method {str(asked)!r}: {problem}")
    if asked.n_samples > MOST_SAMPLES or not asked.temperature > 0:
        raise ScoringError(
            f"method {str(asked)!r}: {asked.n_samples} samples at temperature {asked.temperature:g}; expected 1 to "
            f"{MOST_SAMPLES:,} and a temperature above 0 (without samples, the answer is greedy)"
        )
    drawn = Sampled(n=asked.n_samples, temperature=asked.temperature, seed=seed) if asked.n_samples else None
    return Generated(prompt, in_chat=asked.in_chat, sampled=drawn)


def in_order(methods: Iterable[str], known: Mapping[str, Prompt] | None = None) -> list[str]:
    """Return methods once each: `FAMILIES` first, then prompts in the registry's order, so that tables are alike."""
    names = [*FAMILIES, *(prompts() if known is None else known)]
    places = {name: place for place, name in enumerate(names)}
    parts = {name: MethodName.parsed(name) for name in methods}
    for name, part in sorted(parts.items()):
        if part.id not in places or (part.id in FAMILIES and name != part.id):
            raise unknown_name("method", name, names)
    how = {name: (part.in_chat, part.n_shots, part.n_samples, part.temperature) for name, part in parts.items()}
    return sorted(parts, key=lambda name: (places[parts[name].id], *how[name]))


def multiverse_methods(items: datasets.Dataset, *, with_unigrams: bool = False, asked: bool = True) -> list[str]:
    sides = zip(items["task"], items["language"], items["target_bad"], strict=True)
    kinds = dict.fromkeys((task, language) for task, language, bad in sides if bad is not None)
    if not kinds:
        raise ScoringError("no item has two sides, so that nothing can be compared; a multiverse is of pairs")
    results = [DIRECT]
    results += [name for name, function in LINKING_FUNCTIONS.items() if function.needs != "unigrams" or with_unigrams]
    results += [PMI] * any(items["context_good"])
    if asked:
        results += [
            prompt.id
            for prompt in prompts().values()
            if prompt.readout == "options"
            and prompt.kind != "prediction"
            and not prompt.id.endswith(AS_PRINTED)
            and any(prompt.applies_to(task=task, language=language) for task, language in kinds)
        ]
    return results
