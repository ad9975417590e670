"""Where a target begins, on trained tokenizers of every kind: PEERS.md section 4, items 1 to 12."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

import pairbank
from naive_reference import target_logprob, token_logprobs, tokens_of
from pairbank.errors import ModelLoadError, ScoringError
from pairbank.scoring.api.model import BosPolicy
from pairbank.scoring.api.names import BOUNDARY_MERGE, FIRST_TOKEN_UNSCORED
from pairbank.scoring.api.requests import EncodedRequest, Request, encoded
from pairbank.scoring.models.causal import CausalScorer
from pairbank.scoring.models.load import load_model
from tiny_models import ARCHITECTURES, saved_model
from tiny_tokenizers import CHAT_TOKENS, SENTENCES, TOKENIZERS

TOLERANCE_NATS = 1e-4
LLAMA = ARCHITECTURES["llama"]
BYTE_BPE = ("byte_bpe_bos", "byte_bpe_eos", "byte_bpe_shared", "byte_bpe_bos_eos")
ACCENT = "\N{COMBINING ACUTE ACCENT}"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return one Llama for each tokenizer, as folders."""
    root = tmp_path_factory.mktemp("llamas")
    return {name: saved_model(replace(LLAMA, tokenizer=name), root / name) for name in TOKENIZERS}


@pytest.fixture(scope="module")
def scorers(folders: dict[str, Path]) -> dict[str, CausalScorer]:
    return {name: loaded(folder, prompt_format="base") for name, folder in folders.items()}


@pytest.fixture(params=TOKENIZERS)
def scorer(request: pytest.FixtureRequest, scorers: dict[str, CausalScorer]) -> CausalScorer:
    return scorers[request.param]


def loaded(folder: Path, **options: Any) -> CausalScorer:  # noqa: ANN401 - options of load_model
    result = load_model(folder, **options)
    assert isinstance(result, CausalScorer)
    return result


def encode(scorer: CausalScorer, context: str, target: str, *, chat: bool = False) -> EncodedRequest:
    [done] = scorer.encode([Request(context=context, target=target, chat=chat, where="item 1")])
    return done


def scored(scorer: CausalScorer, context: str, target: str) -> tuple[str, ...]:
    """Return the pieces that are scored, as the tokenizer writes them."""
    done = encode(scorer, context, target)
    return tuple(cast("list[str]", scorer.tokenizer.convert_ids_to_tokens(list(done.ids[done.start :]))))


def text_of(scorer: CausalScorer, request: EncodedRequest) -> str:
    return str(scorer.tokenizer.decode(list(request.ids[request.start :])))


def logprob(scorer: CausalScorer, context: str, target: str) -> float:
    [values] = scorer.token_logprobs([encode(scorer, context, target)], progress=lambda _n: None)
    return float(values.sum())


# 1, 3, 6: the whole string is encoded once, and each token goes to one side


@pytest.mark.parametrize("name", BYTE_BPE)
def test_a_join_inside_a_word_is_scored_from_the_token_that_spans_it(
    name: str, scorers: dict[str, CausalScorer]
) -> None:
    # the pieces are Ġu|nbelievable: the n before the join is in a token of the target
    assert scored(scorers[name], "The un", "believable story") == ("nbelievable", "Ġs", "tor", "y")
    assert encode(scorers[name], "The un", "believable story").flags == (BOUNDARY_MERGE,)
    assert scored(scorers[name], "The u", "nbelievable story") == ("nbelievable", "Ġs", "tor", "y")
    assert encode(scorers[name], "The u", "nbelievable story").flags == ()


@pytest.mark.parametrize(
    ("name", "pieces", "flags"),
    [
        ("metaspace_unigram", ("believable", "▁", "st", "or", "y"), ()),
        ("metaspace_bpe", ("nbelievable", "▁s", "tor", "y"), (BOUNDARY_MERGE,)),
        ("wordpiece", ("unbelievable", "story"), (BOUNDARY_MERGE,)),
        ("characters", tuple("believable story"), ()),
    ],
)
def test_the_same_join_in_other_tokenizers(
    name: str, pieces: tuple[str, ...], flags: tuple[str, ...], scorers: dict[str, CausalScorer]
) -> None:
    assert scored(scorers[name], "The un", "believable story") == pieces
    assert encode(scorers[name], "The un", "believable story").flags == flags


alphabet = st.sampled_from([*"aeknTs. \n'", "这", "书", "เ", "ด", "็", "ك", "ت", "é", ACCENT, "\N{GRINNING FACE}", "ﬁ"])
texts = st.text(alphabet, max_size=12)


@given(context=texts, target=texts.filter(bool), name=st.sampled_from(sorted(TOKENIZERS)))
def test_every_token_that_covers_a_target_character_is_scored_and_no_other(
    scorers: dict[str, CausalScorer], context: str, target: str, name: str
) -> None:
    scorer = scorers[name]
    ids, n_target = tokens_of(scorer.tokenizer, context, target, scorer.info.bos_id)
    if n_target == 0:
        with pytest.raises(ScoringError, match=r"item 1: target .* has no token to score"):
            encode(scorer, context, target)
        return
    done = encode(scorer, context, target)
    assert (list(done.ids), done.n_scored) == (ids, n_target)
    spans = scorer.tokenizer(context + target, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    boundary = len(context.rstrip(" "))
    own = (context + target)[boundary : spans[done.start - 1][0]] if boundary else ""
    spanning = bool(boundary) and spans[done.start - 1][0] < boundary
    assert (BOUNDARY_MERGE in done.flags) == (spanning or bool(own.strip()))


def test_a_first_character_that_is_composed_with_the_context_is_flagged(scorers: dict[str, CausalScorer]) -> None:
    # NFKC makes one é of the context's e and the target's accent; stripping accents drops it
    for name in ("metaspace_unigram", "wordpiece"):
        assert encode(scorers[name], "cafe", ACCENT + " is").flags == (BOUNDARY_MERGE,)
    assert encode(scorers["byte_bpe_bos"], "cafe", ACCENT + " is").flags == ()


# 2: spaces at the join are the target's, newlines of a template never are


def test_a_space_before_the_join_is_scored_like_one_behind_it(scorer: CausalScorer) -> None:
    for spaces in (" ", "  "):
        before = encode(scorer, "The keys" + spaces, "are")
        behind = encode(scorer, "The keys", spaces + "are")
        assert replace(before, offsets=()) == replace(behind, offsets=())  # places in a target, which has the spaces


def test_a_lone_space_at_the_join_is_the_targets(scorers: dict[str, CausalScorer]) -> None:
    space = {"metaspace_unigram": "▁", "metaspace_bpe": "▁", "characters": " "}
    for name, scorer in scorers.items():
        if name != "wordpiece":
            pieces = scored(scorer, "The keys", " \N{GRINNING FACE}")
            assert pieces[0].startswith(space.get(name, "Ġ"))


def test_the_newline_that_ends_a_template_is_not_scored(scorer: CausalScorer) -> None:
    for target in ("1", " 1", "not acceptable"):
        done = encode(scorer, "user\nassistant\n", target)
        assert done.flags == ()
        assert text_of(scorer, done).strip() == target.strip()


def test_a_template_token_that_takes_in_the_space_behind_it_is_not_scored(scorers: dict[str, CausalScorer]) -> None:
    """Phi-3's <|assistant|> swallows the newline and the answer's own space."""
    tokenizer = TOKENIZERS["byte_bpe_bos"]()
    tokenizer.add_tokens([AddedToken("<|assistant|>", rstrip=True, special=True)], special_tokens=True)
    chat = CausalScorer(scorers["byte_bpe_bos"].model, tokenizer, scorers["byte_bpe_bos"].info)
    assert tokenizer("A<|assistant|>\n 1", return_offsets_mapping=True)["offset_mapping"][2] == (1, 16)
    assert scored(chat, "A<|assistant|>\n", " 1") == ("1",)
    assert encode(chat, "A<|assistant|>\n", " 1").flags == ()


def test_an_unknown_token_that_spans_the_join_is_scored(scorers: dict[str, CausalScorer]) -> None:
    assert scored(scorers["wordpiece"], "Xe", "Ж") == ("[UNK]",)
    assert encode(scorers["wordpiece"], "Xe", "Ж").flags == (BOUNDARY_MERGE, "unknown_token")
    assert encode(scorers["wordpiece"], "Ж", " story").flags == (), "a context may have unknown tokens"


# 4, 10: a bare sentence is scored as it is given; an EOS that the tokenizer appends is in no request (see above)


def test_a_tokenizer_that_adds_a_space_in_front_has_it_scored(scorers: dict[str, CausalScorer]) -> None:
    # the piece covers no character: its offsets are (0, 0)
    assert scored(scorers["byte_bpe_bos_eos"], "", "这")[:2] == ("Ġ", "è")
    assert scored(scorers["metaspace_bpe"], "", "这") == ("▁", "这")


# 5: scripts without spaces


def test_languages_without_spaces_are_joined_without_one(scorer: CausalScorer) -> None:
    rows = [
        {"context": "这本书很", "good": "有意思。", "bad": "看书。", "language": "zh"},
        {"context": "เด็กกิน", "good": "ข้าว", "bad": "โต๊ะ", "language": "th"},
        {"context": "The keys", "good": "are here.", "bad": "is here.", "language": "en"},
    ]
    table = pairbank.score(rows, scorer).dataset
    for row, join in zip(table, ("", "", " "), strict=True):
        for side in ("good", "bad"):
            ids, n_target = tokens_of(
                scorer.tokenizer, row["context_good"], join + row[f"target_{side}"], scorer.info.bos_id
            )
            expected = target_logprob(scorer.model, ids, n_target)
            assert row[f"direct_{side}"] == pytest.approx(expected, abs=TOLERANCE_NATS)


# 7: a tokenizer that cannot tell the sides apart


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("wordpiece", "The Dog barks.", "the dog barks."),
        ("wordpiece", "A café.", "A cafe."),
        ("wordpiece", "A  dog.", "A dog."),
        ("metaspace_unigram", "A ﬁne dog.", "A fine dog."),
        ("metaspace_unigram", "A  dog.", "A dog."),
        ("metaspace_unigram", "A Ω dog.", "A Ж dog."),
    ],
)
def test_sides_with_the_same_tokens_are_flagged_and_not_a_win(
    name: str, good: str, bad: str, scorers: dict[str, CausalScorer]
) -> None:
    done = pairbank.score([(good, bad), ("A dog barks.", "A dog bark.")], scorers[name])
    unknown = ["unknown_token"] if "Ж" in bad else []
    assert done["direct_flags"][:] == [[*unknown, "identical_tokens"], []]
    assert done["direct_delta"][0] == 0
    assert done["direct_delta"][1] != 0
    assert done.signature["n_by_flag"]["direct"] == dict.fromkeys([*unknown, "identical_tokens"], 1)


# 8: what stands before the first word

OWN_BOS = {"byte_bpe_bos": "<s>", "byte_bpe_bos_eos": "<s>", "metaspace_unigram": "<s>", "metaspace_bpe": "<s>"}
OWN_BOS |= {"byte_bpe_shared": "<|endoftext|>", "wordpiece": "[BOS]"}
EOS = dict.fromkeys(OWN_BOS, "</s>") | {"byte_bpe_shared": "<|endoftext|>", "wordpiece": "[EOS]"}
EOS |= {"byte_bpe_eos": "<|endoftext|>", "characters": "<eos>"}


@pytest.mark.ci
@pytest.mark.parametrize("name", TOKENIZERS)
@pytest.mark.parametrize("policy", ["auto", "bos", "eos-as-bos", "none"])
def test_bos_policies(name: str, policy: BosPolicy, folders: dict[str, Path]) -> None:
    if policy == "bos" and name not in OWN_BOS:
        with pytest.raises(ModelLoadError, match=f"{name}: the tokenizer has no token for bos='bos'"):
            load_model(folders[name], bos=policy)
        return
    scorer = loaded(folders[name], bos=policy, prompt_format="base")
    done = encode(scorer, "", "The keys are here.")
    own = scorer.tokenizer("The keys are here.", add_special_tokens=False)["input_ids"]
    assert scorer.info.bos_policy == policy
    if policy == "none":
        assert scorer.info.bos_id is None
        assert list(done.ids) == own
        assert (done.n_scored, done.flags) == (len(own) - 1, (FIRST_TOKEN_UNSCORED,))
        return
    expected = EOS[name] if policy == "eos-as-bos" else OWN_BOS.get(name, EOS[name])
    assert scorer.tokenizer.convert_ids_to_tokens(done.ids[0]) == expected
    assert scorer.info.bos_id == done.ids[0]
    assert list(done.ids[1:]) == own
    assert (done.n_scored, done.flags) == (len(own), ())


def test_without_a_bos_only_a_bare_sentence_loses_its_first_token(folders: dict[str, Path]) -> None:
    scorer = loaded(folders["byte_bpe_eos"], bos="none", prompt_format="base")
    assert scored(scorer, "", "The keys are") == ("Ġkeys", "Ġare")
    assert scored(scorer, "The keys", " are") == ("Ġare",)
    assert encode(scorer, "The keys", " are").flags == ()
    with pytest.raises(ScoringError, match=r"item 1: target 'The' has no token to score.*bos='auto'"):
        encode(scorer, "", "The")


# 9: one BOS, also with a chat template


@pytest.mark.parametrize("name", [name for name, make in TOKENIZERS.items() if make().chat_template])
def test_a_chat_has_the_bos_that_its_template_or_tokenizer_brings_once(name: str, folders: dict[str, Path]) -> None:
    chat = loaded(folders[name])
    assert chat.info.prompt_format == "chat"
    rendered = chat.render_prompt(system="You are a helpful assistant.", user="Is it?", stem="My answer is")
    done = encode(chat, rendered, " 1", chat=True)
    brings = OWN_BOS.get(name, "")
    pieces = chat.tokenizer.convert_ids_to_tokens(list(done.ids))
    assert pieces[: 2 if brings else 1] == ([brings] if brings else []) + [CHAT_TOKENS[0]]
    assert pieces.count(brings) == (1 if brings else 0)
    assert done.flags == ()
    # and where the template leaves it to the tokenizer
    bare = encode(chat, rendered.removeprefix(brings), " 1", chat=True)
    assert bare == done


# 11: BOS, EOS and padding may be one token, and may stand in the text


def test_a_text_that_holds_the_padding_token_scores_as_alone(scorers: dict[str, CausalScorer]) -> None:
    scorer = scorers["byte_bpe_shared"]
    end = scorer.tokenizer.eos_token
    assert scorer.tokenizer.pad_token_id == scorer.tokenizer.bos_token_id == scorer.tokenizer.eos_token_id
    asked = [("", f"The keys{end}{end} are here."), ("", end), (f"A dog{end}", f" barks.{end}"), ("", SENTENCES[0])]
    padded = CausalScorer(scorer.model, scorer.tokenizer, scorer.info, batching="padded")
    for one in (scorer, padded):
        result = one.token_logprobs([encode(one, *pair) for pair in asked], progress=lambda _n: None)
        for (context, target), values in zip(asked, result, strict=True):
            ids, n_target = tokens_of(one.tokenizer, context, target, one.info.bos_id)
            assert values.tolist() == pytest.approx(token_logprobs(one.model, ids, n_target), abs=TOLERANCE_NATS)


# 12: an empty context


def test_an_empty_context_scores_the_sentence_and_never_a_template(
    folders: dict[str, Path], scorers: dict[str, CausalScorer]
) -> None:
    for name, scorer in scorers.items():
        [row] = pairbank.score([("The dogs bark.", "The dogs barks.")], loaded(folders[name])).dataset
        ids = scorer.tokenizer("The dogs bark.", add_special_tokens=False)["input_ids"]
        expected = target_logprob(scorer.model, [cast("int", scorer.info.bos_id), *ids], len(ids))
        assert row["direct_good"] == pytest.approx(expected, abs=TOLERANCE_NATS)
        assert row["direct_good_n"] == len(ids)
        assert np.isfinite(row["direct_delta"])


# and the rule itself, on pieces written by hand
def test_pieces_of_one_character_that_share_a_span_all_count() -> None:
    request = Request(context="a", target="\N{GRINNING FACE}")
    done = encoded([1, 2, 3], [(0, 1), (1, 2), (1, 2)], request, bos_id=99)
    assert (done.start, done.n_scored) == (2, 2)
