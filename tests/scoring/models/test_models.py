"""`load_model`: which back end a folder gets, what is recorded, and what each refusal says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
import transformers

from naive_reference import target_logprob
from pairbank.errors import ModelLoadError
from pairbank.scoring.api.requests import Request
from pairbank.scoring.models import placement
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.load import kind_of, load_model
from pairbank.scoring.models.placement import quantisation_config
from pairbank.scoring.models.weights import fingerprint
from tiny_bidirectional_models import SIZES, byte_bpe, masked_model, saved

if TYPE_CHECKING:
    from transformers import PretrainedConfig


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(*masked_model("bert"), tmp_path_factory.mktemp("models") / "tiny-bert")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import GPT2Tokenizer, LlamaConfig, LlamaForCausalLM

    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2}
    tokenizer: Any = GPT2Tokenizer(**byte_bpe(), bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    config = LlamaConfig(vocab_size=len(tokenizer), num_attention_heads=2, bos_token_id=0, eos_token_id=2, **sizes)
    torch.manual_seed(0)
    return saved(LlamaForCausalLM(config), tokenizer, tmp_path_factory.mktemp("models") / "tiny-llama")


def config_of(model_type: str, *architectures: str, **settings: Any) -> PretrainedConfig:  # noqa: ANN401
    from transformers import AutoConfig

    config = AutoConfig.for_model(model_type, **settings)
    config.architectures = list(architectures)
    return config


@pytest.mark.parametrize(
    ("model_type", "architectures", "expected"),
    [
        ("bert", ["BertForMaskedLM"], "masked"),
        ("bert", ["BertForPreTraining"], "masked"),
        ("bert", [], "masked"),
        ("bert", ["BertLMHeadModel"], "masked"),
        ("roberta", ["RobertaForCausalLM"], "causal"),
        ("xlm-roberta", ["XLMRobertaForMaskedLM"], "masked"),
        ("deberta-v2", [], "masked"),
        ("gpt2", ["GPT2LMHeadModel"], "causal"),
        ("llama", ["LlamaForCausalLM"], "causal"),
        ("mamba", [], "causal"),
        ("t5", ["T5ForConditionalGeneration"], "seq2seq"),
        ("bart", ["BartModel"], "seq2seq"),
        ("vit", ["ViTModel"], None),
    ],
)
def test_kinds(model_type: str, architectures: list[str], expected: str | None) -> None:
    assert kind_of(config_of(model_type, *architectures)) == expected
    assert kind_of(config_of("bert", "BertLMHeadModel", is_decoder=True)) == "causal"


def test_what_was_chosen_is_recorded(bert: Path) -> None:
    scorer = load_model(bert, device="cpu", dtype="bfloat16", pll="within_word_l2r", attention="eager", max_length=20)
    assert scorer.info.to_dict() == {
        "name": "tiny-bert",
        "model_id": "tiny-bert",
        "revision": fingerprint(bert),
        "architecture": "BertForMaskedLM",
        "dtype": "bfloat16",
        "quantisation": "",
        "device": "cpu",
        "backend": "masked",
        "prompt_format": "base",
        "bos_policy": "auto",
        "bos_id": 2,
        "max_length": 18,
        "pll": "within_word_l2r",
        "attention": "eager",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
    assert scorer.model.config._attn_implementation == "eager"


def test_layers_can_be_spread_over_devices(llama: Path) -> None:
    spread, plain = load_model(llama, device_map="cpu"), load_model(llama, device="cpu")
    assert spread.info.device_map == "cpu"
    requests = plain.encode([Request(context="", target="The keys")])
    a, b = (scorer.token_logprobs(requests, progress=lambda _n: None)[0] for scorer in (spread, plain))
    assert a.tolist() == pytest.approx(b.tolist(), abs=1e-5)
    with pytest.raises(ModelLoadError, match="device='cpu' and device_map exclude each other"):
        load_model(llama, device="cpu", device_map="auto")


def test_causal_signatures_are_what_they_were(llama: Path) -> None:
    info = load_model(llama, device="cpu").info.to_dict()
    before = "name model_id revision architecture dtype quantisation device backend prompt_format bos_policy bos_id"
    assert list(info) == [*before.split(), "max_length", "torch", "transformers"]
    assert (info["backend"], info["dtype"], info["bos_id"]) == ("causal-packed", "float32", 0)


def test_weights_are_bfloat16_on_a_card_that_has_it_and_float32_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert placement.dtype_for("auto", "cuda:1") is torch.bfloat16
    assert placement.dtype_for("auto", "cpu") is torch.float32
    assert placement.dtype_for("float16", "cuda") is torch.float16
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert placement.dtype_for("auto", "cuda") == "auto"


def test_4bit_is_nf4_with_double_quantisation_and_bfloat16_compute() -> None:
    four, eight = (quantisation_config(bits).to_dict() for bits in ("4bit", "8bit"))
    assert four["load_in_4bit"]
    assert (four["bnb_4bit_quant_type"], four["bnb_4bit_use_double_quant"]) == ("nf4", True)
    assert four["bnb_4bit_compute_dtype"] == "bfloat16"
    assert eight["load_in_8bit"]


def test_without_bitsandbytes_quantisation_says_what_to_install(llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "bitsandbytes" else real(name, *rest)
    )
    with pytest.raises(ModelLoadError, match="needs the package bitsandbytes; pip install bitsandbytes"):
        load_model(llama, device="cpu", quantisation="4bit")
    bad: Any = "2bit"
    with pytest.raises(ModelLoadError, match="quantisation '2bit' is unknown; expected '4bit' or '8bit'"):
        load_model(llama, device="cpu", quantisation=bad)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "encoder"}, "kind 'encoder' is unknown; expected one of auto, causal, masked, seq2seq"),
        ({"kind": "seq2seq"}, "cannot load model"),
        ({"bos": "none"}, "bos='none' is for causal models, and tiny-bert is masked"),
        ({"bos": "sep"}, "bos 'sep' is unknown; expected one of auto, bos, eos-as-bos, cls, none"),
        ({"prompt_format": "chat"}, "prompt_format='chat' is for causal models"),
        ({"pll": "l2r"}, "pll 'l2r' is unknown; expected one of original, within_word_l2r"),
        ({"seq2seq_mode": "sentinel"}, "seq2seq_mode='sentinel' is for seq2seq models"),
        ({"max_length": 201}, "max_length 201 is out of range; expected 1 to 200"),
        ({"dtype": "int8"}, "dtype 'int8' is not a floating-point torch dtype"),
        ({"device": "gpu"}, "device 'gpu' is unknown to torch"),
        ({"attention": "fast"}, "cannot load model"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused(bert: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelLoadError, match=message):
        load_model(bert, **{"device": "cpu", **options})


@pytest.mark.parametrize("name", ["./no-such-folder", "/no/such/folder", "no/such.gguf"])
def test_a_missing_folder_is_named(name: str) -> None:
    with pytest.raises(ModelLoadError, match=f"no folder {name}"):
        load_model(name)


def test_a_folder_without_a_model_and_one_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelLoadError, match="cannot load model"):
        load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "vit", "architectures": ["ViTModel"]}', encoding="utf-8")
    with pytest.raises(ModelLoadError, match=r"cannot tell what kind of model .* is \(model_type 'vit'"):
        load_model(tmp_path)


def test_a_checkpoint_without_a_head_is_refused_and_not_filled_with_random_weights(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    _, tokenizer = masked_model("bert")
    headless = BertModel(BertConfig(vocab_size=len(tokenizer), **SIZES))
    with pytest.raises(ModelLoadError, match=r"no weights for 6 parameters of BertForMaskedLM .* would be random"):
        load_model(saved(headless, tokenizer, tmp_path / "headless"), device="cpu")


def test_tokenizers_without_bos_mask_or_offsets_are_refused(llama: Path, tmp_path: Path) -> None:
    from transformers import ByT5Tokenizer, GPT2Tokenizer

    model = load_model(llama, device="cpu").model
    none: dict[str, Any] = {"bos_token": None, "eos_token": None, "unk_token": None}
    tokenizer: Any = GPT2Tokenizer(**byte_bpe(), **none)
    folder = saved(model, tokenizer, tmp_path / "no-bos")
    with pytest.raises(ModelLoadError, match="no token for bos='auto'; load it with bos='none'"):
        load_model(folder, device="cpu")
    assert load_model(folder, device="cpu", bos="none").info.bos_id is None
    bert, _ = masked_model("bert")
    with pytest.raises(ModelLoadError, match="the tokenizer has no mask token"):
        load_model(saved(bert, tokenizer, tmp_path / "no-mask"), device="cpu")
    slow: Any = ByT5Tokenizer()
    with pytest.raises(ModelLoadError, match="has no fast tokenizer; character offsets need one"):
        load_model(saved(bert, slow, tmp_path / "slow"), device="cpu")


def test_a_chat_template_on_a_masked_model_is_not_used_and_that_is_stated(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, tokenizer = masked_model("bert")
    tokenizer.chat_template = "{{ messages[0].content }}"
    scorer = load_model(saved(model, tokenizer, tmp_path / "chatty"), device="cpu")
    assert scorer.info.prompt_format == "base"
    assert "chatty: its chat template is not used" in caplog.text
    assert scorer.render_prompt(system="s", user="u", stem="My answer is") == "u\nMy answer is"


def test_a_gguf_file_is_loaded_by_its_path_or_from_its_folder(llama: Path, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    folder = tmp_path / "quantised"
    folder.mkdir()
    file = written_as_gguf(llama, folder / "tiny.F32.gguf")
    by_path, by_folder = load_model(file, device="cpu"), load_model(folder, device="cpu")
    assert (by_path.info.name, by_folder.info.name) == ("tiny.F32", "quantised")
    assert by_path.info.quantisation == "F32 (GGUF, dequantised)"
    assert by_path.info.revision == by_folder.info.revision
    assert by_folder.info.gguf_file == "tiny.F32.gguf"
    assert isinstance(by_path, CausalScorer)
    original = load_model(llama, device="cpu")
    (request,) = by_path.encode([Request(context="", target="The keys")])
    assert request.ids == original.encode([Request(context="", target="The keys")])[0].ids
    (values,) = by_path.token_logprobs([request], progress=lambda _n: None)
    expected = target_logprob(original.model, list(request.ids), request.n_scored)
    assert values.sum() == pytest.approx(expected, abs=1e-4)
    written_as_gguf(llama, folder / "tiny.F16.gguf")
    with pytest.raises(ModelLoadError, match="holds 2 GGUF files; choose one with gguf_file="):
        load_model(folder)
    with pytest.raises(ModelLoadError, match=r"no file 'other\.gguf' in"):
        load_model(folder, gguf_file="other.gguf")
    assert load_model(folder, gguf_file="tiny.F16.gguf", device="cpu").info.quantisation == "F16 (GGUF, dequantised)"


def written_as_gguf(source: Path, path: Path) -> Path:
    """Write a tiny Llama and its byte-level BPE as a GGUF file of float32 tensors."""
    import gguf

    scorer = load_model(source, device="cpu")
    config, tokenizer = scorer.model.config, scorer.tokenizer
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    made = byte_bpe()
    tokens = sorted(made["vocab"], key=made["vocab"].get)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if i < 5 else 1 for i in range(len(tokens))])
    writer.add_token_merges([" ".join(pair) for pair in made["merges"]])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in scorer.model.state_dict().items():
        values = weight.numpy()
        if name.endswith(("q_proj.weight", "k_proj.weight")):
            # llama.cpp keeps the two halves of each head's rotary dimensions interleaved.
            halves = values.reshape(config.num_attention_heads, 2, -1, values.shape[1])
            values = halves.swapaxes(1, 2).reshape(values.shape)
        theirs = names.get_name(name, try_suffixes=(".weight",))
        assert theirs is not None
        writer.add_tensor(theirs, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_causal_model_with_the_tokenizer_of_bert_takes_cls_as_bos(tmp_path: Path) -> None:
    """GPT-2 for Chinese (uer/gpt2-chinese-cluecorpussmall) has no BOS and no EOS; its texts began with [CLS]."""
    from transformers import BertTokenizer, GPT2Config, GPT2LMHeadModel

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"他们来了过书。"]
    tokenizer: Any = BertTokenizer(vocab={word: nth for nth, word in enumerate(words)})
    config = GPT2Config(vocab_size=len(words), n_positions=32, n_embd=16, n_layer=2, n_head=2)
    torch.manual_seed(0)
    folder = saved(GPT2LMHeadModel(config), tokenizer, tmp_path / "gpt2-zh")
    with pytest.raises(ModelLoadError, match=r"for bos='bos'; load it with bos='cls', where .* or bos='none'"):
        load_model(folder, device="cpu", bos="bos")
    assert load_model(folder, device="cpu", bos="cls").info.prefix == (2,)
    scorer = load_model(folder, device="cpu")
    assert (scorer.info.bos_policy, scorer.info.bos_id) == ("auto", 2)
    sentence = "他们来了。"
    (result,) = scorer.token_logprobs(scorer.encode([Request(context="", target=sentence)]), progress=lambda _n: None)
    ids = [2, *(words.index(c) for c in sentence)]
    with torch.no_grad():
        logits = scorer.model(torch.tensor([ids])).logits[0].double().log_softmax(-1)
    expected = sum(float(logits[place, token]) for place, token in enumerate(ids[1:]))
    assert result.sum() == pytest.approx(expected, abs=1e-4)  # no [SEP] behind it, no second [CLS]


def test_cls_is_no_bos_where_the_tokenizer_has_none(llama: Path) -> None:
    with pytest.raises(ModelLoadError, match="no token for bos='cls'; load it with bos='none'"):
        load_model(llama, device="cpu", bos="cls")
