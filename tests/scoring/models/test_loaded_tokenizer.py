"""Tokenizers as they are saved: what they write before a text, randomness left in them, and wrong patterns."""

import itertools
import json
import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, pre_tokenizers, processors

from naive_reference import target_logprob
from pairbank.errors import ModelLoadError
from pairbank.scoring.api.model import Ask
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models import loaded_tokenizer
from pairbank.scoring.models.generation import write
from pairbank.scoring.models.load import load_model, remembered
from pairbank.scoring.models.loaded_tokenizer import load_tokenizer
from pairbank.scoring.models.loading import loading
from pairbank.scoring.words import words
from tiny_bidirectional_models import masked_model, saved, t5_model
from tiny_models import ARCHITECTURES, tiny_model
from tiny_tokenizers import TOKENIZERS

TEXTS = ["The keys to the cabinet are on the table.", "The author said so.", "他们在图书馆看书。"]


def folder_of(
    architecture: str,
    kind: str,
    folder: Path,
    change: Callable[[Tokenizer], None] = lambda _: None,
    **roles: Any,  # noqa: ANN401
) -> Path:
    """Save a tiny model with one of the tiny tokenizers, changed; `roles`: special tokens it declares otherwise."""
    tokenizer: Any = TOKENIZERS[kind]()
    change(tokenizer.backend_tokenizer)
    template = roles.pop("chat_template", None)
    declared = {role: getattr(tokenizer, role) for role in ("bos_token", "eos_token", "unk_token")} | roles
    made: Any = transformers.PreTrainedTokenizerFast
    tokenizer = made(
        tokenizer_object=tokenizer.backend_tokenizer, chat_template=template, **{k: v for k, v in declared.items() if v}
    )
    model = tiny_model(ARCHITECTURES[architecture], vocab_size=len(tokenizer))
    return saved(model, tokenizer, folder)


def writes(*tokens: str, end: str = "") -> Callable[[Tokenizer], None]:
    """Return what makes a tokenizer write these tokens before a text, and one behind it."""

    def change(tokenizer: Tokenizer) -> None:
        ids = [(token, tokenizer.token_to_id(token)) for token in (*tokens, end) if token]
        template = " ".join(part for part in (*tokens, "$A", end) if part)
        tokenizer.post_processor = processors.TemplateProcessing(single=template, special_tokens=ids)

    return change


def reference(scorer: Any, text: str) -> float:  # noqa: ANN401 - any scorer
    """Return log P of a text given what its tokenizer, called on the text, writes before it."""
    bare = scorer.tokenizer(text, add_special_tokens=False)["input_ids"]
    whole = scorer.tokenizer(text)["input_ids"]
    start = next(n for n in range(len(whole)) if whole[n : n + len(bare)] == bare)
    return target_logprob(scorer.model, whole[: start + len(bare)], len(bare))


def score(scorer: Any, text: str) -> float:  # noqa: ANN401 - any scorer
    [values] = scorer.token_logprobs(scorer.encode([Request(context="", target=text)]), progress=lambda _n: None)
    return float(values.sum())


PREFIXES = {
    "another than the declared BOS (XGLM)": ("llama", "byte_bpe_bos", ("</s>",), ""),
    "the same of a unigram tokenizer": ("opt", "metaspace_unigram", ("</s>",), ""),
    "two tokens (GLM)": ("gpt2", "byte_bpe_bos", ("<|im_start|>", "<s>"), ""),
    "three tokens, and one behind": ("gpt-neox", "metaspace_bpe", ("<s>", "<|im_end|>", "<s>"), "</s>"),
    "where no BOS is declared": ("mistral", "wordpiece", ("[EOS]",), "[BOS]"),
}


@pytest.mark.parametrize("name", PREFIXES)
def test_scores_are_given_what_the_tokenizer_writes_before_a_text(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    architecture, kind, tokens, end = PREFIXES[name]
    no_bos = {"bos_token": None} if "no BOS" in name else {}
    folder = folder_of(architecture, kind, tmp_path / "m", writes(*tokens, end=end), **no_bos)
    scorer: Any = load_model(folder, device="cpu")
    ids = tuple(scorer.tokenizer.convert_tokens_to_ids([*tokens]))
    assert (scorer.info.prefix, scorer.info.prefix_ids, scorer.info.bos_id) == (ids, ids, ids[0])
    assert f"scores are given {' '.join(tokens)}, which its tokenizer writes before a text" in caplog.text
    assert scorer.info.to_dict()["prefix_ids"] == [*ids]
    assert remembered(folder, device="cpu") == scorer.info
    for text in TEXTS:
        assert score(scorer, text) == pytest.approx(reference(scorer, text), abs=1e-3)
    assert scorer.prompt_ids(["Is it so?"])[0][: len(ids)] == [*ids]
    [written] = write(scorer, [Ask(text=TEXTS[1])], max_new_tokens=3)
    assert written.n_tokens <= 3
    # the sum over a text's words is that of its tokens, uncorrected for the ends of words
    table = words(TEXTS[:1], scorer, correct=False)
    assert table["logprob_nats"].sum() == pytest.approx(reference(scorer, TEXTS[0]), abs=1e-3)


def test_the_declared_bos_and_the_eos_are_still_there_to_choose(tmp_path: Path) -> None:
    folder = folder_of("llama", "byte_bpe_bos", tmp_path / "m", writes("</s>"))
    for bos, ids in (("bos", (0,)), ("eos-as-bos", (1,)), ("none", ())):
        scorer: Any = load_model(folder, device="cpu", bos=bos)  # type: ignore[arg-type]
        assert scorer.info.prefix == ids
        [encoded] = scorer.encode([Request(context="", target=TEXTS[0])])
        assert encoded.ids == (*ids, *scorer.tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"])


def test_a_rendered_chat_gets_no_second_prefix(tmp_path: Path) -> None:
    for name, template in (("brings", "<|im_start|><s>"), ("brings its bos", "<s>"), ("brings none", "")):
        folder = folder_of(
            "llama",
            "byte_bpe_bos",
            tmp_path / name,
            writes("<|im_start|>", "<s>"),
            chat_template=template + "{% for m in messages %}{{ m['content'] }}<|im_end|>{% endfor %}",
        )
        scorer: Any = load_model(folder, device="cpu")
        prompt = scorer.render_prompt(system="", user="Is it so?", stem="")
        [encoded] = scorer.encode([Request(context=prompt, target="yes", chat=True)])
        bare = scorer.tokenizer(prompt + "yes", add_special_tokens=False)["input_ids"]
        assert encoded.ids == (*(() if template else scorer.info.prefix), *bare)
        assert scorer.prompt_ids([prompt], chat=True)[0] == [*(() if template else scorer.info.prefix), *bare[:-3]]


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_the_keys_of_ordinary_models_are_what_they_were(kind: str, tmp_path: Path) -> None:
    tokenizer: Any = TOKENIZERS[kind]()
    folder = saved(tiny_model(ARCHITECTURES["llama"], vocab_size=len(tokenizer)), tokenizer, tmp_path / "m")
    info = load_model(folder, device="cpu").info
    assert info.bos_id == (tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id)
    facts = info.to_dict()
    assert {"prefix_ids", "tokenizer_changes", "load_notes"}.isdisjoint(facts)
    assert json.loads(info.key) == {name: value for name, value in facts.items() if name != "name"}


def test_a_tokenizer_that_writes_other_tokens_before_each_text_needs_a_bos_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of("llama", "byte_bpe_bos", tmp_path / "m")
    call: Any = transformers.PreTrainedTokenizerFast.__call__

    def changed(self: Any, text: Any, **options: Any) -> Any:  # noqa: ANN401
        result = call(self, text, **options)
        if isinstance(text, str) and options.get("add_special_tokens", True):
            result["input_ids"] = [len(text) % 7, *result["input_ids"]]
        return result

    monkeypatch.setattr(transformers.PreTrainedTokenizerFast, "__call__", changed)
    with pytest.raises(ModelLoadError, match=r"before a text depends on the text; .* load it with bos='bos'"):
        load_model(folder, device="cpu")
    assert load_model(folder, device="cpu", bos="bos").info.prefix == (0,)


def dropping(share: float) -> Callable[[Tokenizer], None]:
    """Return what gives a BPE tokenizer dropout."""

    def change(tokenizer: Tokenizer) -> None:
        model: Any = tokenizer.model
        model.dropout = share

    return change


@pytest.mark.parametrize(
    ("architecture", "kind", "share"),
    [("gpt2", "byte_bpe_shared", 0.3), ("llama", "metaspace_bpe", 0.1), ("gpt-neox", "byte_bpe_bos_eos", 0.01)],
)
def test_bpe_dropout_is_switched_off_and_recorded(
    architecture: str, kind: str, share: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plain: Any = load_model(folder_of(architecture, kind, tmp_path / "plain"), device="cpu")
    scorer: Any = load_model(folder_of(architecture, kind, tmp_path / "m", dropping(share)), device="cpu")
    assert scorer.info.tokenizer_changes == f"BPE dropout of {share:g} switched off"
    assert f"m: of its tokenizer as it was saved: BPE dropout of {share:g} switched off" in caplog.text
    assert "BPE dropout" in scorer.info.key
    for text, _ in itertools.product(TEXTS, range(5)):
        assert score(scorer, text) == pytest.approx(score(plain, text), abs=1e-3)


def test_bpe_dropout_of_a_masked_model_is_switched_off_too(tmp_path: Path) -> None:
    model, _ = masked_model("roberta")
    tokenizer: Any = TOKENIZERS["byte_bpe_bos_eos"]()
    tokenizer.add_special_tokens({"mask_token": "<mask>", "pad_token": "</s>"})
    model.resize_token_embeddings(len(tokenizer))
    plain = load_model(saved(model, tokenizer, tmp_path / "plain"), device="cpu")
    dropping(0.5)(tokenizer.backend_tokenizer)
    scorer = load_model(saved(model, tokenizer, tmp_path / "m"), device="cpu")
    assert scorer.info.tokenizer_changes == "BPE dropout of 0.5 switched off"
    assert score(scorer, TEXTS[0]) == pytest.approx(score(plain, TEXTS[0]), abs=1e-3)


def test_sampling_of_unigrams_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer: Any = TOKENIZERS["metaspace_unigram"]()
    usual = tokenizer(TEXTS)["input_ids"]
    tokenizer.backend_tokenizer.model.alpha = 0.1
    assert any(tokenizer(TEXTS)["input_ids"] != usual for _ in range(20))
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_, **__: tokenizer)
    loaded = load_tokenizer("m", "m", {}, local=True, keep_mistral_regex=False)
    assert loaded.changes == "sampling of unigrams switched off"
    assert all(loaded.tokenizer(TEXTS)["input_ids"] == usual for _ in range(20))


class Sampling:
    """A slow tokenizer of sentencepiece, as far as it is used here: it draws its tokens where sampling is on."""

    def __init__(self, **sp_model_kwargs: object) -> None:
        self.sp_model_kwargs = sp_model_kwargs
        self.n_calls = 0

    def __call__(self, texts: list[str], **_: object) -> dict[str, list[list[int]]]:
        self.n_calls += 1
        drawn = self.n_calls if self.sp_model_kwargs.get("enable_sampling") else 0
        return {"input_ids": [[len(text), drawn] for text in texts]}


def test_sampling_of_sentencepiece_is_switched_off_by_loading_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    saved_options = {"enable_sampling": True, "nbest_size": -1, "alpha": 0.1}

    def load(_path: str, sp_model_kwargs: dict[str, Any] = saved_options, **_: object) -> Sampling:
        return Sampling(**sp_model_kwargs)

    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", load)
    loaded = load_tokenizer("m", "m", {}, local=True, keep_mistral_regex=False)
    assert loaded.changes == "sampling of sentencepiece switched off"
    tokenizer: Any = loaded.tokenizer
    assert tokenizer.sp_model_kwargs == saved_options | {"enable_sampling": False}


def test_a_tokenizer_that_draws_and_cannot_be_told_not_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_tokenizer, "_without_dropout", lambda _tokenizer: iter(()))
    for name, share in (("often", 0.3), ("seldom", 0.02)):
        folder = folder_of("llama", "byte_bpe_bos", tmp_path / name, dropping(share))
        with pytest.raises(ModelLoadError, match=f"{name}: its tokenizer cuts the same text into other tokens each"):
            load_model(folder, device="cpu")
    model, tokenizer = t5_model()
    folder = saved(model, tokenizer, tmp_path / "t5")
    call: Any = transformers.PreTrainedTokenizerFast.__call__
    draws = itertools.count()

    def drawn(self: Any, *texts: Any, **options: Any) -> Any:  # noqa: ANN401
        result = call(self, *texts, **options)
        if isinstance(texts[0], list):
            result["input_ids"][0][0] = next(draws)
        return result

    monkeypatch.setattr(transformers.PreTrainedTokenizerFast, "__call__", drawn)
    with pytest.raises(ModelLoadError, match="so that its scores would be chance; switch off dropout or sampling"):
        load_model(folder, device="cpu")


CONVERTED = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
OTHER = r" ?\p{L}+| ?\p{N}+|\s+| ?[^\s\p{L}\p{N}]+"


def mistral(folder: Path, pattern: str, *, version: str = "4.50.0") -> Path:
    """Save a Mistral whose vocabulary is large enough for transformers to doubt its pattern."""
    tokenizer: Any = TOKENIZERS["byte_bpe_bos"]()
    backend = tokenizer.backend_tokenizer
    cut = pre_tokenizers.Split(Regex(pattern), "isolated")
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    table = json.loads(backend.to_str())
    vocabulary = table["model"]["vocab"]
    # one token of mixed case, which Mistral's own pattern never makes
    for pair in (("e", "D"), ("eD", "o"), ("eDo", "g")):
        vocabulary["".join(pair)] = len(vocabulary)
    table["model"]["merges"] = [["e", "D"], ["eD", "o"], ["eDo", "g"], *table["model"]["merges"]]
    vocabulary |= {f"\N{WHITE SQUARE}{i}": len(vocabulary) + i for i in range(100_001)}
    made: Any = transformers.PreTrainedTokenizerFast
    tokenizer = made(tokenizer_object=Tokenizer.from_str(json.dumps(table)), bos_token="<s>", eos_token="</s>")
    model = tiny_model(ARCHITECTURES["mistral"], vocab_size=len(tokenizer))
    saved(model, tokenizer, folder)
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"transformers_version": version}))
    return folder


@pytest.mark.ci
def test_the_pattern_of_converted_mistral_tokenizers_is_repaired_and_recorded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    folder, text = mistral(tmp_path / "m", CONVERTED), "TheDog barks, and the author said so."
    right: Any = transformers.AutoTokenizer.from_pretrained(folder, fix_mistral_regex=True)
    wrong: Any = transformers.AutoTokenizer.from_pretrained(folder, fix_mistral_regex=False)
    assert right(text)["input_ids"] != wrong(text)["input_ids"]
    capfd.readouterr()
    for tokenizer, repair in ((right, True), (wrong, False)):
        caplog.clear()
        scorer: Any = load_model(folder, device="cpu", keep_mistral_regex=not repair)
        ids = tokenizer(text)["input_ids"]
        assert score(scorer, text) == pytest.approx(target_logprob(scorer.model, ids, len(ids) - 1), abs=1e-3)
        assert ("fix_mistral_regex" in scorer.info.key) == repair
        assert ("its pre-tokenizer is wrong" in scorer.info.load_notes) == (not repair)
        assert ("pattern of the pre-tokenizer repaired" in caplog.text) == repair
        assert "fix_mistral_regex=True" not in capfd.readouterr().err


@pytest.mark.ci
def test_patterns_that_are_not_the_converted_one_are_kept(tmp_path: Path) -> None:
    for name, pattern, version in (("own", OTHER, "4.50.0"), ("new", CONVERTED, "5.1.0")):
        info = load_model(mistral(tmp_path / name, pattern, version=version), device="cpu").info
        assert (info.tokenizer_changes, info.load_notes) == ("", "")


def configured(folder: Path, **changed: object) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    return folder


def test_what_transformers_warns_of_is_a_note_of_ours_each_time_and_in_the_signature(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Transformers logs some warnings once per process; the signature must not depend on what was loaded before."""
    yarn = {"rope_type": "yarn", "factor": 3.0, "original_max_position_embeddings": 320, "rope_theta": 10000.0}
    folder = configured(folder_of("llama", "byte_bpe_bos", tmp_path / "m"), rope_parameters=yarn | {"new": 1})
    plain = load_model(folder_of("llama", "byte_bpe_bos", tmp_path / "plain"), device="cpu")
    capfd.readouterr()
    for _ in range(2):
        caplog.clear()
        info = load_model(folder, device="cpu").info
        assert "does not match the ratio implicitly set" in info.load_notes
        assert "Unrecognized keys in `rope_parameters`" in info.load_notes
        assert caplog.text.count("m: Unrecognized keys in `rope_parameters`") == 1
        assert "rope" not in capfd.readouterr().err
        assert "rope" not in info.key
    assert plain.info.load_notes == ""


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("emoji is not installed, thus not converting emoticons. Install emoji: pip3 install emoji==0.6.0", "install"),
        ("Could not reorder vocab using converter for XTokenizer due to 1. Falling back", "tokenizer.json"),
        ("`src_lang=xx` has not be found in the `vocabulary`. Behaviour will be unexpected", "language code"),
        ("This checkpoint seem corrupted. The tied weights mapping", "copy the checkpoint again"),
    ],
)
def test_warnings_after_which_numbers_would_be_wrong_are_errors(message: str, remedy: str) -> None:
    library = logging.getLogger("transformers.models.some")
    refused = pytest.raises(ModelLoadError, match=f"cannot load model 'm': transformers warns: .*; .*{remedy}")
    with refused, loading("m", local=True):
        library.warning(message)


def test_python_warnings_of_transformers_are_notes_and_all_others_go_on() -> None:
    with warnings.catch_warnings(), loading("m", local=True) as notes:
        warnings.simplefilter("default")
        warnings.warn_explicit("the byte fallback option", UserWarning, "/x/transformers/convert_slow_tokenizer.py", 1)
        library = logging.getLogger("transformers.modeling_utils")
        library.warning("`torch_dtype` is deprecated! Use `dtype` instead!")
    assert notes == ["the byte fallback option"]
    with pytest.warns(FutureWarning, match="another"), loading("m", local=True) as notes:
        warnings.warn_explicit("another", FutureWarning, "/x/transformers/a.py", 1)
    assert notes == []


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "module._orig_mod."])
@pytest.mark.parametrize("architecture", ["llama", "gpt2"])
def test_a_checkpoint_of_a_wrapped_model_names_the_prefix(prefix: str, architecture: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = folder_of(architecture, "byte_bpe_bos", tmp_path / "m")
    path = folder / "model.safetensors"
    save_file({prefix + name: tensor for name, tensor in load_file(path).items()}, path, metadata={"format": "pt"})
    with pytest.raises(ModelLoadError, match=f"begin with '{prefix}', as those of a wrapped model do .*remove that"):
        load_model(folder, device="cpu")


def test_weights_without_a_place_are_noted(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = folder_of("llama", "byte_bpe_bos", tmp_path / "m")
    path = folder / "model.safetensors"
    save_file(load_file(path) | {"value_head.weight": torch.ones(3)}, path, metadata={"format": "pt"})
    note = "the model has no place for 1 weights of the checkpoint (value_head.weight …)"
    assert load_model(folder, device="cpu").info.load_notes == note


def test_a_bos_beyond_the_embeddings_is_named(tmp_path: Path) -> None:
    folder = folder_of("llama", "byte_bpe_bos", tmp_path / "m", writes())
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": [f"<|{i}|>" for i in range(9)]})
    tokenizer.bos_token = "<|8|>"  # noqa: S105 - no password
    tokenizer.save_pretrained(folder)
    with pytest.raises(ModelLoadError, match=r"the tokenizer gives token \d+ \('<\|8\|>'\), and the model has"):
        load_model(folder, device="cpu")
