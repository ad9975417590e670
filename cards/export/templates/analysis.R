# Mixed models of scores.csv, which `pairbank export --to r` wrote: one row per item, model, method and presentation.
# Run in this folder: Rscript analysis.R. Needs lme4; with lmerTest it prints p values, with brms it models ratings.
suppressPackageStartupMessages(library(lme4))
has <- function(package) suppressPackageStartupMessages(requireNamespace(package, quietly = TRUE))
if (has("lmerTest")) library(lmerTest)
options(width = 120)  # so that the p values stand in the line of their estimate

scores <- read.csv("scores.csv", stringsAsFactors = TRUE, na.strings = "", fileEncoding = "UTF-8")
scores$item <- interaction(scores$corpus, scores$item_id, drop = TRUE)

# What is drawn: items, paradigms and models; a grouping of one level, or of as many as there are rows, is left out.
random <- function(data, groups = c("item", "paradigm", "model")) {
  n <- sapply(groups, function(group) nlevels(droplevels(as.factor(data[[group]]))))
  terms <- sprintf("(1 | %s)", groups[n > 1 & n < nrow(data)])
  methods_by_model <- nlevels(droplevels(data$method)) > 1 && "model" %in% groups && n["model"] > 3
  if (methods_by_model) terms <- c(terms, "(1 | model:method)")
  terms
}
# A model that cannot be fitted (all choices of a method right, too few groups) is named, and the others go on.
fitted <- function(what, fit) {
  tryCatch(print(summary(fit()), corr = FALSE), error = function(e) {
    cat(what, "cannot be fitted:", conditionMessage(e), "\n")
  })
}
with_method <- function(data, terms) if (nlevels(droplevels(data$method)) > 1) terms[2] else terms[1]

for (corpus in levels(scores$corpus)) {
  here <- droplevels(scores[scores$corpus == corpus, ])
  if ("direct" %in% levels(here$method)) here$method <- relevel(here$method, ref = "direct")

  # 1. Accuracy by method: log odds of a right choice. Ties (correct = 0.5) are left out.
  choices <- droplevels(here[!is.na(here$correct) & here$correct %in% c(0, 1), ])
  if (nrow(choices) > 0 && length(unique(choices$correct)) == 2) {
    terms <- c(with_method(choices, c("1", "method")), random(choices))
    cat("\n## Accuracy,", corpus, "\n")
    if (length(terms) > 1) {
      fitted("Accuracy", function() glmer(reformulate(terms, "correct"), choices, family = binomial))
    }
  }

  # 2. Deltas, or scores of single sentences, in a model's and method's own standard deviations, by people's ratings.
  here$value <- ifelse(is.na(here$score), here$delta, here$score)
  here$people <- ifelse(is.na(here$human_delta), here$human_good, here$human_delta)
  rated <- here[!is.na(here$value) & !is.na(here$people), ]
  if (nrow(rated) > 0 && sd(rated$people) > 0) {
    standardised <- function(x) (x - mean(x)) / sd(x)
    rated$z <- ave(rated$value, rated$model, rated$method, addNA(rated$presentation), FUN = standardised)
    once <- rated$people[!duplicated(rated$item)]
    rated$people_z <- (rated$people - mean(once)) / sd(once)
    rated <- droplevels(rated[is.finite(rated$z), ])
    groups <- random(rated, c("item", "paradigm"))  # the mean of z is 0 in each model: models have no intercepts
    terms <- c(with_method(rated, c("people_z", "method * people_z")), groups)
    cat("\n## Deltas and people's ratings,", corpus, "\n")
    if (length(groups) > 0) fitted("Deltas", function() lmer(reformulate(terms, "z"), rated))
  }
}

# 3. Individual ratings, where the bank holds them: a cumulative model of the better and the worse side.
if (file.exists("ratings.csv") && has("brms")) {
  ratings <- read.csv("ratings.csv", stringsAsFactors = TRUE, fileEncoding = "UTF-8")
  for (corpus in levels(ratings$corpus)) {
    here <- droplevels(ratings[ratings$corpus == corpus & grepl("^likert", ratings$scale), ])
    if (nrow(here) > 0) {
      here$value <- ordered(here$value)
      model <- value ~ side + (1 + side | rater) + (1 + side | item_id)
      print(brms::brm(model, here, family = brms::cumulative("probit")))
    }
  }
}
