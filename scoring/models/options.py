"""What can be chosen when a model is loaded: one declaration for Python and the command line.

Each option's annotation carries its help. Imports neither torch nor transformers.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, TypedDict, cast

from pairbank.errors import ModelLoadError


class LoadOptions(TypedDict, total=False):
    """Keyword options of `load_model`; whatever is not given is as in `DEFAULTS`."""

    kind: Annotated[
        Literal["auto", "causal", "masked", "seq2seq"],
        "causal, masked or seq2seq; auto = what the model's configuration says.",
    ]
    device: Annotated[str, "auto (CUDA, else Apple's MPS, else the CPU), or a torch device: cpu, cuda, cuda:1 …"]
    dtype: Annotated[
        str,
        "auto (float32 on the CPU, bfloat16 on CUDA where the card has it, else the checkpoint's), or a torch dtype's "
        "name. Log-probabilities are normalised in float32 whatever it is.",
    ]
    device_map: Annotated[
        str | dict[str, int | str] | None,
        "Spread the layers over devices as transformers does (auto, balanced …); in place of the device.",
    ]
    quantisation: Annotated[
        Literal["4bit", "8bit"] | None,
        "4bit (nf4, double quantisation, bfloat16 compute, as Song et al. 2025 run models of more than 70B) or 8bit, "
        "with bitsandbytes.",
    ]
    revision: Annotated[
        str | None, "Commit, tag or branch on the Hub; it is then part of the model's name (model@revision)."
    ]
    gguf_file: Annotated[str | None, "The GGUF file in the folder or on the Hub; it is dequantised."]
    bos: Annotated[
        Literal["auto", "bos", "eos-as-bos", "cls", "none"],
        "Causal models: what stands before a text. auto = the tokenizer's BOS, else its EOS, so that the first word "
        "counts; cls = [CLS], for causal models with BERT's tokenizer; none leaves the first token unscored. Other "
        "models use their own special tokens.",
    ]
    prompt_format: Annotated[
        Literal["auto", "base", "chat"],
        "chat renders prompts with the tokenizer's chat template (causal models only), base does not; auto = chat "
        "where there is a template. Direct scores never see a template.",
    ]
    pll: Annotated[
        Literal["original", "within_word_l2r"],
        "Masked models: hide each token alone (original, Salazar et al. 2020) or together with the later tokens of "
        "its word (within_word_l2r, Kauf & Ivanova 2023).",
    ]
    seq2seq_mode: Annotated[
        Literal["auto", "sentinel", "conditional"],
        "Encoder-decoders: sentinel (Hu & Levy 2023) or conditional; auto = sentinel where the tokenizer has some.",
    ]
    max_length: Annotated[int | None, "Longest sequence in tokens, where it shall be less than what the model accepts."]
    attention: Annotated[str | None, "transformers' attn_implementation: sdpa, eager …"]
    batch_tokens: Annotated[
        int | None,
        "Most tokens of a forward pass; default: what the caches of a CPU or the free memory of a GPU hold. It is "
        "halved when memory runs out, and moves no number by more than rounding.",
    ]
    trust_remote_code: Annotated[bool, "Run code from the model's repository."]


DEFAULTS: LoadOptions = {
    "kind": "auto",
    "device": "auto",
    "dtype": "auto",
    "device_map": None,
    "quantisation": None,
    "revision": None,
    "gguf_file": None,
    "bos": "auto",
    "prompt_format": "auto",
    "pll": "original",
    "seq2seq_mode": "auto",
    "max_length": None,
    "attention": None,
    "batch_tokens": None,
    "trust_remote_code": False,
}


def refuse_others(options: LoadOptions, honoured: Collection[str], *, where: str) -> None:
    """Refuse every option that a back end does not honour and the user has set.

    >>> refuse_others({"dtype": "float16"}, ["max_length"], where="fake:x")
    Traceback (most recent call last):
    pairbank.errors.ModelLoadError: fake:x takes no dtype='float16'; it honours max_length. Leave dtype at 'auto'

    Raises:
        ModelLoadError: such an option.
    """
    given, usual = cast("Mapping[str, Any]", options), cast("Mapping[str, Any]", DEFAULTS)
    for name, value in given.items():
        if name not in honoured and value != usual[name]:
            raise ModelLoadError(
                f"{where} takes no {name}={value!r}; it honours {', '.join(honoured) or 'no option'}. "
                f"Leave {name} at {usual[name]!r}"
            )


def completed(options: LoadOptions) -> LoadOptions:
    """Return the options with the defaults for what is not given.

    Raises:
        ModelLoadError: an option that does not exist, or a number that is none.
    """
    given = cast("Mapping[str, Any]", options)
    if unknown := sorted(given.keys() - DEFAULTS.keys()):
        near = difflib.get_close_matches(unknown[0], DEFAULTS)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ModelLoadError(f"load_model has no option {unknown[0]!r}; {hint}known: {', '.join(DEFAULTS)}")
    batch_tokens = given.get("batch_tokens")
    if batch_tokens is not None and batch_tokens < 1:
        raise ModelLoadError(f"batch_tokens {batch_tokens} is out of range; expected at least 1")
    return {**DEFAULTS, **options}
