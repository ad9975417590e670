"""What the words in a report's tables mean: Markdown, for its appendix."""

DEFINITIONS = """\
- **accuracy**: share of items whose difference (good - bad, in the method's unit) is positive, ties (differences up to
  1e-9) counted one half. For prompted methods the difference is averaged over all presentations of the item.
- **orders pooled**: every presentation is one trial: right if the correct option is the most probable.
  For judgments of single sentences this is balanced accuracy. The interval counts items, not trials.
- **first option chosen**: share of presentations in which the option shown first is the most probable (.5 = no bias
  where both orders are asked; with a fixed order, the share of items). Where it is 0.95 or more, or 0.05 or less, and
  the correct option is shown in both places, the answers name a place and not a side: the accuracy that the first page
  gives is then that with **orders pooled**; where the method's paper averages, the averaged one stands beside it, and
  compares how sure the model is of that option in one presentation and in the other.
- **of likeliest ratings**: share of items whose better side gets the higher of the two most probable ratings, ties
  counted one half. For ratings, **accuracy** compares expected ratings, in points of the scale.
- **no answer found**: where the model writes its answer, the share of texts in which none was found, over all items;
  accuracy is over the items with an answer.
- **mean log P**: of the one word (or sentence) of one-sided items, given its context or a question about it. Agreement
  is then between these log-probabilities, not between differences.
- **Pearson r, Spearman rho**: between the differences of the method and of `direct` (or of people: mean judgment of
  the better sentence - of the worse one) over the items that both have. **Cohen's kappa, same choice**: between the
  signs of the differences; ties left out.
- **cannot read**: said of a model and corpus where more than 5% of the items hold characters that the tokenizer has
  no token for (flag `unknown_token`), or more than 5% of the pairs are the same tokens on both sides
  (`identical_tokens`).
- Intervals are at level 0.95: Wilson for shares, clustered by items where each has several presentations; Student t for
  means; jackknife on the z scale for Pearson (from 4 items on) and Spearman (from 10 on); asymptotic on the z scale for
  kappa (where both choices occur 5 times or more). Items with identical sides are left out and counted as excluded.
"""
