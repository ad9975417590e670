# The reference of test_mixed_effects.py: what lme4 makes of the same cells, and lmerTest's degrees of freedom if it is there.
# Rscript mixed_reference.R cells.csv fits.csv; cells.csv has columns set, unit, method, model, phenomenon, value.
suppressMessages({
  library(lme4)
  with_df <- requireNamespace("lmerTest", quietly = TRUE)
})
files <- commandArgs(TRUE)
cells <- read.csv(files[1], na.strings = "")
fits <- lapply(unique(cells$set), function(set) {
  x <- cells[cells$set == set, ]
  methods <- sort(unique(x$method)); models <- sort(unique(x$model))
  k <- length(methods); m <- length(models)
  terms <- c(if (k > 1) "method", if (m > 1) "model", if (!anyNA(x$phenomenon)) "phenomenon")
  complete <- nrow(unique(x[, c("method", "model")])) == k * m
  if (k > 1 && m > 1 && m < 4 && complete) for (a in methods[-1]) for (b in models[-1]) {
    name <- paste0("both", a, b)
    x[[name]] <- ((x$method == a) - 1 / k) * ((x$model == b) - 1 / m)
    terms <- c(terms, name)
  }
  random <- c("(1|unit)", if (k > 1 && m > 1) c("(1|unit:method)", "(1|unit:model)"), if (k > 1 && m >= 4) "(1|method:model)")
  fitting <- if (with_df) lmerTest::lmer else lmer
  fit <- suppressMessages(suppressWarnings(fitting(as.formula(paste("value ~", paste(c(terms, random), collapse = "+"))), x)))
  found <- coef(summary(fit)); spread <- as.data.frame(VarCorr(fit))
  data.frame(
    set = set, name = c(rownames(found), spread$grp), value = c(found[, 1], spread$vcov),
    se = c(found[, 2], rep(NA, nrow(spread))), df = c(if (with_df) found[, 3] else rep(NA, nrow(found)), rep(NA, nrow(spread)))
  )
})
write.csv(do.call(rbind, fits), files[2], row.names = FALSE)
