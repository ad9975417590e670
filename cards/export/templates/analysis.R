# Mixed models of scores.csv, which `pairbank export --to r` wrote: one row per item, model, method and presentation.
# Run in this folder: Rscript analysis.R. Needs lme4; with lmerTest it prints p values, with brms it models ratings.
suppressPackageStartupMessages(library(lme4))
has <- function(package) suppressPackageStartupMessages(requireNamespace(package, quietly = TRUE))
if (has("lmerTest")) library(lmerTest)
options(width = 120)  # so that the p values stand in the line of their estimate

scores <- read.csv("scores.csv", stringsAsFactors = TRUE, na.strings = "", fileEncoding = "UTF-8")
scores$own_item <- scores$item  # a column of yours, where there is one
scores$item <- interaction(scores$corpus, scores$item_id, drop = TRUE)

# What is drawn: items, paradigms; a grouping of one level, or of as many as there are rows, is left out.
random <- function(data, groups) {
  n <- sapply(groups, function(group) nlevels(droplevels(as.factor(data[[group]]))))
  sprintf("(1 | %s)", groups[n > 1 & n < nrow(data)])
}
# A model that cannot be fitted (all choices of a method right, too few groups) is named, and the others go on.
fitted <- function(what, fit) {
  tryCatch(print(summary(fit()), corr = FALSE), error = function(e) {
    cat(what, "cannot be fitted:", conditionMessage(e), "\n")
  })
}
with_method <- function(data, terms) if (nlevels(droplevels(data$method)) > 1) terms[2] else terms[1]

# A cell is the mean credit of a unit's items: units are paradigms, from ten on, else items. They are drawn, and how well methods
# and models do on each; from four models on, also what a method changes in a model. Below, that is a fixed effect.
accuracy <- function(answers) {
  answers$unit <- if (nlevels(answers$paradigm) >= 10) answers$paradigm else answers$item
  cells <- aggregate(answers["credit"], answers[c("unit", "method", "model")], mean)
  n <- c(nlevels(cells$method), nlevels(cells$model))
  phenomenon <- answers$phenomenon[match(cells$unit, answers$unit)]
  several <- !anyNA(phenomenon) && nlevels(droplevels(as.factor(phenomenon))) > 1
  if (several) cells$phenomenon <- droplevels(as.factor(phenomenon))
  crossed <- min(n) > 1
  complete <- nrow(unique(cells[c("method", "model")])) == prod(n)
  if (crossed && n[2] < 4 && complete) {
    centred <- function(x) model.matrix(~x)[, -1, drop = FALSE] - 1 / nlevels(x)
    method <- centred(cells$method)
    model <- centred(cells$model)
    by_model <- do.call(cbind, lapply(seq_len(ncol(method)), function(k) method[, k] * model))
    cells$by_model <- unname(by_model)
  }
  terms <- c(
    "1", if (n[1] > 1) "method", if (n[2] > 1) "model", if (several) "phenomenon", if (!is.null(cells$by_model)) "by_model",
    "(1 | unit)", if (crossed) c("(1 | unit:method)", "(1 | unit:model)"), if (crossed && n[2] > 3) "(1 | model:method)"
  )
  lmer(reformulate(terms, "credit"), cells)
}

# Slopes of log10 size by method: units, models and families are drawn, in level, between methods and in slope. Hu & Frank's
# own model of single answers is correct ~ size * method + (size * method | family), by glmer.
sizes <- function(answers) {
  answers$unit <- if (nlevels(answers$paradigm) >= 10) answers$paradigm else answers$item
  cells <- aggregate(answers["credit_all"], answers[c("unit", "method", "model", "family", "size_billions")], mean)
  once <- log10(cells$size_billions[!duplicated(cells$model)])
  cells$size <- log10(cells$size_billions) - mean(once)
  cells$z <- cells$size / sqrt(mean((once - mean(once))^2))
  several <- nlevels(cells$method) > 1
  n <- nlevels(droplevels(cells$family))
  drawn <- c("unit", if (n > 1 && n < length(once)) "family")
  terms <- c(
    if (several) "size * method" else "size", sprintf("(1 | %s)", c(drawn, "model")), sprintf("(0 + z | %s)", drawn),
    if (several) c(sprintf("(1 | %s:method)", c(drawn, "model")), sprintf("(0 + z | %s:method)", drawn), "(1 | unit:model)")
  )
  lmer(reformulate(terms, "credit_all"), cells)
}

for (corpus in levels(scores$corpus)) {
  here <- droplevels(scores[scores$corpus == corpus, ])
  if ("direct" %in% levels(here$method)) here$method <- relevel(here$method, ref = "direct")

  # 1. Accuracy: the model of the section `mixed` of a report. An item's credit is by the definition of the method's paper,
  # ties one half; models with position bias by a method have none.
  cat("\n## Accuracy,", corpus, "\n")
  fitted("Accuracy", function() accuracy(droplevels(here[!is.na(here$credit), ])))

  sized <- droplevels(here[!is.na(here$credit_all) & !is.na(here$size_billions), ])
  if (length(unique(sized$size_billions[!duplicated(sized$model)])) > 1 && nlevels(sized$model) > 5) {
    cat("\n## Size,", corpus, "\n")
    fitted("Size", function() sizes(sized))
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

# 4. Designs: z-scores by the factors, as in the section `design` of a report. People's have all slopes by participant and item
# set. A model gives a sentence one score: its effects are taken in each item set and are t tests over item sets.
# Coefficients are first level minus second; of two factors, the interaction is minus the difference of differences.
if (file.exists("designs.csv")) {
  stated <- read.csv("designs.csv", fileEncoding = "UTF-8")
  cat("\n# Designs. The interaction of two factors is minus the report's difference of differences.\n")
  zscore <- function(x) (x - mean(x)) / sd(x)
  for (corpus in unique(stated$corpus)) {
    of <- function(role) sub("^item$", "own_item", stated$column[stated$corpus == corpus & stated$role == role])
    factors <- of("factor")
    coded <- function(data) {
      for (name in of("filler")) {
        values <- strsplit(stated$values[stated$corpus == corpus & stated$role == "filler" & stated$column == name], "|", fixed = TRUE)[[1]]
        data <- data[!(tolower(data[[name]]) %in% values), ]
      }
      data$item_set_ <- data[[of("item_set")]]
      by <- of("by")
      data$design_ <- if (length(by)) do.call(paste, c(data[by], sep = ", ")) else corpus
      data <- droplevels(data[stats::complete.cases(data[factors]), ])
      for (name in factors) {
        known <- strsplit(stated$values[stated$corpus == corpus & stated$column == name & stated$role == "factor"], "|", fixed = TRUE)[[1]]
        data[[name]] <- factor(data[[name]], known)
        coding <- -MASS::contr.sdif(length(known))
        colnames(coding) <- paste0("(", head(known, -1), " - ", tail(known, -1), ")")
        contrasts(data[[name]]) <- coding
      }
      data
    }
    crossed <- paste(factors, collapse = " * ")
    here <- droplevels(scores[scores$corpus == corpus & !is.na(scores$score), ])
    if (file.exists("ratings.csv")) {
      people <- read.csv("ratings.csv", fileEncoding = "UTF-8")
      people <- people[people$corpus == corpus, ]
      people$z <- ave(people$value, people$rater, FUN = zscore)
      people <- coded(merge(people, here[!duplicated(here$item_id), ], by = c("corpus", "item_id")))
      model <- as.formula(sprintf("z ~ %s + (1 + %s | rater) + (1 + %s | item_set_)", crossed, crossed, crossed))
      for (design in unique(people$design_)) {
        cat("\n## People,", corpus, design, "\n")
        fitted("The design", function() lmer(model, people[people$design_ == design, ], control = lmerControl("bobyqa")))
      }
    }
    here$z <- ave(here$score, here$model, here$method, addNA(here$presentation), here$language, FUN = zscore)
    here <- coded(here)
    saturated <- as.formula(paste("z ~", crossed))
    n_cells <- prod(sapply(factors, function(name) nlevels(here[[name]])))
    for (one in split(here, list(here$model, here$method, here$design_), drop = TRUE)) {
      cat("\n##", as.character(one$model[1]), as.character(one$method[1]), corpus, one$design_[1], "\n")
      sets <- split(one, one$item_set_, drop = TRUE)
      whole <- Filter(function(set) nrow(unique(set[factors])) == n_cells, sets)
      if (length(whole) < length(sets)) cat(length(sets) - length(whole), "item sets lack a condition and are left out.\n")
      effects <- sapply(whole, function(set) coef(lm(saturated, set))[-1])
      effects <- matrix(effects, ncol = length(whole), dimnames = list(names(coef(lm(saturated, one)))[-1], NULL))
      if (ncol(effects) > 1) {
        se <- apply(effects, 1, sd) / sqrt(ncol(effects))
        printCoefmat(cbind(Estimate = rowMeans(effects), `Std. Error` = se, df = ncol(effects) - 1, `t value` = rowMeans(effects) / se,
          `Pr(>|t|)` = 2 * pt(-abs(rowMeans(effects) / se), ncol(effects) - 1)), digits = 4, tst.ind = 4, cs.ind = 1:2, zap.ind = 3)
      }
    }
  }
}
