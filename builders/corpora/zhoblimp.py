"""ZhoBLiMP: 118 Chinese paradigms of 300 minimal pairs. Liu et al. 2024, arXiv:2411.06096.

In: `ZhoBLiMP.tar.gz` (or its folder of `*.jsonl`, a pair a line) and, where it is there, the counts of the human
forced-choice validation. Out: one item a pair. The counts are of a paradigm, not of a sentence: they go into the
manifest, and `human_good`, `human_bad` stay null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pairbank.builders.corpora.corpus import BuildOptions, wanted
from pairbank.builders.corpora.declared import declared
from pairbank.builders.schema.columns import Item
from pairbank.builders.sources.archives import member_texts
from pairbank.builders.sources.readers import read_delimited, read_json_lines
from pairbank.builders.sources.source import LocatedFile
from pairbank.errors import CorpusError

ARCHIVE = "ZhoBLiMP.tar.gz"
PATTERN = "ZhoBLiMP/*.jsonl"
HUMAN = "human_validation_result.csv"
REQUIRED = ("UID", "phenomenon", "sentence_good", "sentence_bad", "pairID")


def rows(files: Mapping[str, LocatedFile], options: BuildOptions) -> Iterator[Item]:
    """Yield the items of all paradigms asked for, paradigms in alphabetical order."""
    path = files[ARCHIVE].path

    def asked(name: str) -> bool:
        return wanted(_paradigm(name), options)

    for name, text in member_texts(path, PATTERN, asked):
        where = f"{path}:{name}"
        for number, row in read_json_lines(text.split("\n"), REQUIRED, where=where):
            uid = _paradigm(name)
            if row["UID"] != uid or uid not in PARADIGMS:
                raise CorpusError(
                    f"{where}, row {number}: UID is {row['UID']!r}, expected the file's name, one of the "
                    f"{len(PARADIGMS)} released paradigms; take away other files"
                )
            yield Item(
                item_id=f"zhoblimp/{uid}/{row['pairID']}",
                corpus="zhoblimp",
                subset=uid,
                language="zh",
                task="sentence_pair",
                phenomenon=row["phenomenon"],
                paradigm=uid,
                target_good=row["sentence_good"],
                context_bad="",
                target_bad=row["sentence_bad"],
                pair_id=str(row["pairID"]),
            )


def _paradigm(name: str) -> str:
    return name.rsplit("/", 1)[-1].removesuffix(".jsonl")


def metadata(files: Mapping[str, LocatedFile]) -> Mapping[str, object]:
    """Return how often people chose the better sentence, a paradigm: the 118 released and those left out for it."""
    located = files.get(HUMAN)
    if located is None:
        return {}
    counts: dict[str, dict[str, int]] = {}
    for line, row in read_delimited(located.path, ("UID", "correct", "total")):
        where = f"{located.path}, row {line}"
        if not (row["correct"].isdecimal() and row["total"].isdecimal()):
            raise CorpusError(f"{where}: {row['correct']!r} of {row['total']!r}, expected two whole numbers")
        counts[row["UID"]] = {"n_correct": int(row["correct"]), "n_judgments": int(row["total"])}
    return {
        "human_forced_choice_by_paradigm": {uid: count for uid, count in counts.items() if uid in PARADIGMS},
        "human_forced_choice_of_excluded": {uid: count for uid, count in counts.items() if uid not in PARADIGMS},
    }


PARADIGMS = (
    "BA_BEI_subj_drop",
    "BA_deletion",
    "BA_duplicate_argument",
    "BA_inversion",
    "BA_meiba",
    "BA_negation",
    "BA_no_progressive",
    "BA_no_stative_verb",
    "BA_suo_adverbial_a",
    "BA_suo_adverbial_b",
    "BA_verb_le_a",
    "BA_verb_le_b",
    "BEI_construction_a",
    "BEI_construction_b",
    "BEI_deletion",
    "BEI_preposition",
    "PN_numP_a",
    "PN_numP_b",
    "adjective_transitive_dui",
    "agent_animacy_adv",
    "agent_animacy_passive",
    "agent_animacy_subj",
    "agent_causative",
    "agent_deletion",
    "anaphor_gender_agreement",
    "anaphor_number_agreement",
    "causative_shi_ba",
    "classifier_noun_agreement",
    "classifier_noun_agreement_no_gap",
    "classifier_noun_subj",
    "control_modal_vs_raising_modal",
    "ellipsis_adj",
    "ellipsis_double_object",
    "ellipsis_n_bar_class",
    "existential_there_subject_raising",
    "fci_renhe_dou",
    "fci_renhe_prepP",
    "fci_renhe_ruguo",
    "fci_renhe_subj",
    "fci_renhe_suoyou",
    "intransitive_double_obj",
    "intransitive_no_obj",
    "left_adverbial_b",
    "left_adverbial_d",
    "left_adverbial_e",
    "left_adverbial_negation",
    "left_dou",
    "modal_raising_hui",
    "modal_raising_topicalization",
    "nominal_definite_men",
    "nominal_modal_insertion",
    "noun_adjective_shi",
    "noun_phrase_conjunction_jian",
    "npi_renhe_A_not_A_question",
    "npi_renhe_conditional",
    "npi_renhe_neg_scope_locP",
    "npi_renhe_neg_scope_subj",
    "npi_renhe_wh_question_obj",
    "npi_renhe_wh_question_subj",
    "passive_agent_deletion_long_left",
    "passive_agent_deletion_long_right_a",
    "passive_agent_deletion_long_right_b",
    "passive_agent_deletion_short",
    "passive_body_part",
    "passive_intransitive",
    "passive_no_adj",
    "passive_suo",
    "plural_cardinal_men_a",
    "plural_cardinal_men_b",
    "preposition_deletion",
    "preposition_insertion",
    "principle_A_c_command",
    "principle_A_c_command_number",
    "principle_A_domain",
    "principle_A_domain_number",
    "question_A_not_A",
    "question_A_not_A_daodi_a",
    "question_A_not_A_daodi_b",
    "question_A_not_A_indirect",
    "question_V_not_VP_1",
    "question_V_not_VP_2",
    "question_daodi_nandao_1",
    "question_daodi_nandao_2",
    "question_daodi_nandao_A_not_A_intran",
    "question_daodi_nandao_A_not_A_tran",
    "question_daodi_negation",
    "question_nandao_negation",
    "question_nandao_raising_1_a",
    "question_nandao_raising_1_b",
    "question_nandao_raising_2",
    "question_nandao_raising_3",
    "question_nandao_scope_1",
    "question_nandao_scope_2",
    "question_particle_daodi_choice_intran",
    "question_particle_daodi_choice_tran",
    "question_particle_nandao",
    "relative_operator_intepretation",
    "relative_operator_who",
    "relativization_movement_no_gap",
    "relativization_movement_when_where",
    "renhe_no_episodic_sentences",
    "renhe_no_superordinate_negation",
    "renhe_non_factive_verb",
    "right_yijing_a",
    "right_yijing_b",
    "singular_PN_but_plural_pron",
    "superlative_quantifiers_1",
    "superlative_quantifiers_2",
    "topicalization_OSV",
    "topicalization_OSV_mei",
    "topicalization_SOV",
    "topicalization_SOV_mei",
    "verb_negation_particle",
    "verb_phrase_left_adverbial",
    "verb_phrase_left_negation",
    "ya_insertion",
    "you_quantifier_adj",
    "you_yige",
)


ZHOBLIMP = declared("zhoblimp", rows, metadata=metadata)
