# ruff: noqa: I001 - in the order in which data flow
from pairbank.builders.load import load_corpus as load_corpus
from pairbank.builders.load import load_ratings as load_ratings
from pairbank.scoring.models.load import load_model as load_model
from pairbank.scoring.minimalness import add_minimalness as add_minimalness
from pairbank.scoring.score import score as score
from pairbank.scoring.cut import cut_alike as cut_alike
from pairbank.scoring.importing.scores import import_logs as import_logs
from pairbank.scoring.importing.scores import Imports as Imports
from pairbank.scoring.importing.scores import import_scores as import_scores
from pairbank.scoring.scored import Scored as Scored
from pairbank.scoring.scored import read_scored as read_scored
from pairbank.scoring.participants import participants as participants
from pairbank.scoring.words import words as words
from pairbank.probing import probe as probe
from pairbank.stats.analyses.neuro import Probed as Probed
from pairbank.scoring.methods.unigrams import count_unigrams as count_unigrams
from pairbank.scoring.methods.unigrams import read_unigrams as read_unigrams
from pairbank.scoring.methods.unigrams import Unigrams as Unigrams
from pairbank.stats.report.report import report as report
from pairbank.stats.report.report import Report as Report
from pairbank.cards.write import write_bank as write_bank
from pairbank.cards.write import remove_model as remove_model
from pairbank.cards.write import strip_texts as strip_texts
from pairbank.cards.check import check_bank as check_bank
from pairbank.cards.export.every_eval_ever import export_results as export_results
from pairbank.cards.merge import merge_banks as merge_banks
from pairbank.cards.publish import publish as publish
from pairbank.cards.publish import Published as Published
from pairbank.cards.site.site import write_site as write_site
from pairbank.cards.submissions import submit as submit
from pairbank.cards.submissions import submit_results as submit_results
from pairbank.cards.submissions import check_submission as check_submission
from pairbank.cards.submissions import fetch as fetch
from pairbank.cards.submissions import withdraw as withdraw
from pairbank.cards.review import review as review
from pairbank.cards.store import build_store as build_store

__version__: str
__all__: list[str]  # noqa: PYI035 - the names above
