"""Small tokenizers of every kind, trained here on a few sentences in six scripts: no download, the same everywhere."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

SENTENCES = (
    "The keys to the cabinet are on the table.",
    "The keys to the cabinet is on the table.",
    "A dog barks, and the dogs bark again.",
    "The unbelievable story is believable; the author said so.",
    "Which sentence is a better English sentence? 1: 'A dog barks.', 2: 'A dogs bark.'.",
    "Respond with 1 or 2 as your answer. My answer is 1",
    "Is the following sentence acceptable in English? Respond with 2 if it is not acceptable.",
    "You are a helpful assistant. user assistant system",
    "这本书很有意思。 他们在图书馆看书。 她没有去北京。",
    "كتب الطالب الدرس. قرأت الطالبات الكتب في المكتبة.",
    "เด็กกินข้าว แมวนอนบนโต๊ะ เขาไม่ไปโรงเรียน",
    "Good morning \N{GRINNING FACE} and good night \N{CRESCENT MOON} caf\N{LATIN SMALL LETTER E WITH ACUTE}",
)
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHAT_TOKENS = ("<|im_start|>", "<|im_end|>")
START, END, UNKNOWN, SPACE = "<s>", "</s>", "<unk>", "\N{LOWER ONE EIGHTH BLOCK}"


def _fast(
    tokenizer: Tokenizer, *, bos: str = "", eos: str, pad: str = "", unk: str = "", chat_template: str = ""
) -> PreTrainedTokenizerFast:
    roles = {"bos_token": bos, "eos_token": eos, "pad_token": pad, "unk_token": unk, "chat_template": chat_template}
    made: PreTrainedTokenizerFast = transformers.PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, **{role: value for role, value in roles.items() if value}
    )
    return made


def _trained(tokenizer: Tokenizer, trainer: Any) -> Tokenizer:  # noqa: ANN401 - any trainer
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    return tokenizer


def _with_bos(tokenizer: Tokenizer, bos: str, eos: str = "") -> Tokenizer:
    """Make the tokenizer put BOS before a text, and EOS behind it where one is given."""
    ids = [(token, tokenizer.token_to_id(token)) for token in (bos, eos) if token]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A {eos}".strip(), pair=f"{bos} $A $B {eos}".strip(), special_tokens=ids
    )
    return tokenizer


def _byte_bpe(special: tuple[str, ...], n_tokens: int = 420) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=n_tokens, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    return _trained(tokenizer, trainer)


def byte_bpe_bos() -> PreTrainedTokenizerFast:
    """Byte-level BPE that puts its own BOS before a text (Llama 3, OPT, BLOOM with a template)."""
    tokenizer = _with_bos(_byte_bpe((START, END, *CHAT_TOKENS)), START)
    return _fast(tokenizer, bos=START, eos=END, chat_template=CHAT_TEMPLATE)


def byte_bpe_eos() -> PreTrainedTokenizerFast:
    """Byte-level BPE without a BOS; padding is the EOS (Qwen 2)."""
    tokenizer = _byte_bpe(("<|endoftext|>", *CHAT_TOKENS))
    template = CHAT_TEMPLATE.replace("{{ bos_token }}", "")
    return _fast(tokenizer, eos="<|endoftext|>", pad="<|endoftext|>", chat_template=template)


def byte_bpe_shared() -> PreTrainedTokenizerFast:
    """Byte-level BPE whose BOS, EOS and padding are one token, which it adds nowhere (GPT-2); no chat template."""
    end = "<|endoftext|>"
    tokenizer = _byte_bpe((end,))
    return _fast(tokenizer, bos=end, eos=end, pad=end)


def byte_bpe_bos_eos() -> PreTrainedTokenizerFast:
    """Byte-level BPE that adds BOS, EOS and a space in front; its offsets leave spaces out (RoBERTa's kind)."""
    tokenizer = _byte_bpe((START, END))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.post_processor = processors.RobertaProcessing(
        (END, 1), (START, 0), trim_offsets=True, add_prefix_space=True
    )
    return _fast(tokenizer, bos=START, eos=END)


def metaspace_unigram() -> PreTrainedTokenizerFast:
    """Unigram over pieces that begin with a metaspace, NFKC-normalised; adds BOS (T5's and XLM-R's kind)."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=400, special_tokens=[UNKNOWN, START, END], unk_token=UNKNOWN, show_progress=False
    )
    _trained(tokenizer, trainer)
    # the trainer leaves pieces of equal score in no fixed order
    table = json.loads(tokenizer.to_str())
    vocabulary = table["model"]["vocab"]
    table["model"]["vocab"] = vocabulary[:3] + sorted(vocabulary[3:], key=lambda piece: (-piece[1], piece[0]))
    tokenizer = _with_bos(Tokenizer.from_str(json.dumps(table)), START)
    return _fast(tokenizer, bos=START, eos=END, pad=END, unk=UNKNOWN)


def metaspace_bpe() -> PreTrainedTokenizerFast:
    """BPE with metaspace, byte fallback and a dummy space in front (Llama 2, Gemma); adds BOS, has a template."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN, byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)])
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.Fuse()])
    special = [UNKNOWN, START, END, *CHAT_TOKENS, *(f"<0x{i:02X}>" for i in range(256))]
    # without a pre-tokenizer BPE would learn whole sentences as tokens; cut before each metaspace while learning
    tokenizer.pre_tokenizer = pre_tokenizers.Split(SPACE, "merged_with_next")
    trainer = trainers.BpeTrainer(vocab_size=520, special_tokens=special, show_progress=False)
    _trained(tokenizer, trainer)
    # the byte tokens are ordinary entries of the vocabulary, not added tokens that a text could hold
    table = json.loads(tokenizer.to_str())
    table["added_tokens"] = table["added_tokens"][:5]
    tokenizer = _with_bos(Tokenizer.from_str(json.dumps(table)), START)
    return _fast(tokenizer, bos=START, eos=END, unk=UNKNOWN, chat_template=CHAT_TEMPLATE)


def wordpiece() -> PreTrainedTokenizerFast:
    """Lower-casing, accent-stripping word pieces on whitespace and punctuation (BERT's kind), with BOS."""
    unknown = "[UNK]"
    tokenizer = Tokenizer(models.WordPiece(unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=400, special_tokens=[unknown, "[BOS]", "[EOS]"], show_progress=False)
    tokenizer = _with_bos(_trained(tokenizer, trainer), "[BOS]", "[EOS]")
    return _fast(tokenizer, bos="[BOS]", eos="[EOS]", pad="[EOS]", unk=unknown)


def characters() -> PreTrainedTokenizerFast:
    """One token a character, with an EOS and no BOS."""
    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"(?m:.)"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    trainer = trainers.WordLevelTrainer(vocab_size=400, special_tokens=["<eos>", UNKNOWN], show_progress=False)
    return _fast(_trained(tokenizer, trainer), eos="<eos>", pad="<eos>", unk=UNKNOWN)


TOKENIZERS: Mapping[str, Callable[[], PreTrainedTokenizerFast]] = {
    maker.__name__: maker
    for maker in (
        byte_bpe_bos,
        byte_bpe_eos,
        byte_bpe_shared,
        byte_bpe_bos_eos,
        metaspace_unigram,
        metaspace_bpe,
        wordpiece,
        characters,
    )
}
