"""Signatures in words: in, the signatures of a bank's tables; out, sentences that say how each model was scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pairbank.cards.card.foreign_text import code, inline

Signature = Mapping[str, Any]
FORMATS = {"chat": "prompts in its chat template", "base": "prompts as plain text"}
BOS = {
    "auto": "its own BOS token, else its EOS, before every text",
    "bos": "its BOS token before every text",
    "eos-as-bos": "its EOS token before every text",
    "cls": "its [CLS] token before every text",
    "none": "no token before a text, whose first token is not scored",
}
PLL = {
    "original": "pseudo-log-likelihood, each token hidden alone",
    "within_word_l2r": "pseudo-log-likelihood, each token hidden with the later ones of its word",
}


def models_in_words(signatures: Sequence[Signature]) -> list[str]:
    """Return a line of Markdown a model and way of scoring, with the corpora it scored."""
    lines: dict[str, list[str]] = {}
    for signature in signatures:
        if "imported" not in signature:
            lines.setdefault(_model(signature), []).append(inline(str(signature["corpus"]["name"])))
    return [f"{line} Corpora: {', '.join(dict.fromkeys(corpora))}." for line, corpora in lines.items()]


def _model(signature: Signature) -> str:
    model = signature["model"]
    seen = [
        f"{inline(str(model['architecture']))} in {inline(str(model['dtype']))}",
        f"quantised: {inline(str(model['quantisation']))}" if model["quantisation"] else "not quantised",
        FORMATS.get(model["prompt_format"], inline(str(model["prompt_format"]))),
    ]
    if model.get("pll"):
        seen.append(PLL.get(model["pll"], inline(str(model["pll"]))))
    elif model.get("seq2seq_mode"):
        seen.append(f"encoder-decoder framing: {inline(str(model['seq2seq_mode']))}")
    else:
        token = f" (id {model['bos_id']})" if model["bos_id"] is not None else ""
        seen.append(f"{BOS.get(model['bos_policy'], inline(str(model['bos_policy'])))}{token}")
    if signature["over_length"] == "nan":
        seen.append("items longer than its context are NaN and flagged")
    return (
        f"**{inline(str(model['name']))}** ({code(str(model['model_id']))} at {code(str(model['revision']))}): "
        f"{'; '.join(seen)}. Seed {signature['seed']}, pairbank {inline(str(signature['pairbank']))}."
    )


def imported_in_words(signatures: Sequence[Signature]) -> list[str]:
    """Return a line of Markdown a file of scores that were computed elsewhere."""
    lines: dict[str, list[str]] = {}
    for signature in signatures:
        if "imported" in signature:
            origin = signature["imported"]
            paper = next(iter(signature["methods"].values()))["paper"].removeprefix("imported: ")
            file, digest = code(str(origin["file"])), code(str(origin["sha256"])[:12])
            corpus = inline(str(signature["corpus"]["name"]))
            key = f"{file} (sha256 {digest}; {inline(str(paper))}), corpus {corpus}"
            lines.setdefault(key, []).append(inline(str(signature["model"]["name"])))
    return [f"{key}: {', '.join(dict.fromkeys(models))}." for key, models in lines.items()]
