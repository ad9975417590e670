# The reference of fit_by_family in test_mixed_covariates.py: Rscript by_family_reference.R answers.csv fits.csv
# answers.csv has columns set, family, method, x, value (0 or 1). Of four fits, the one of the lowest deviance.
suppressMessages(library(lme4))
files <- commandArgs(TRUE)
answers <- read.csv(files[1])
fits <- lapply(unique(answers$set), function(set) {
  d <- answers[answers$set == set, ]
  tried <- list()
  for (optimizer in c("bobyqa", "Nelder_Mead")) for (at in c(1, 0.1)) {
    control <- glmerControl(optimizer = optimizer, optCtrl = list(maxfun = 1e5))
    start <- list(theta = at * diag(4)[lower.tri(diag(4), TRUE)], fixef = rep(0, 4))
    tried <- c(tried, suppressMessages(suppressWarnings(
      glmer(value ~ x * method + (x * method | family), d, family = binomial, control = control, start = start)
    )))
  }
  fit <- tried[[which.max(sapply(tried, logLik))]]
  found <- coef(summary(fit))
  data.frame(set = set, name = rownames(found), value = found[, 1], se = found[, 2], deviance = -2 * as.numeric(logLik(fit)))
})
write.csv(do.call(rbind, fits), files[2], row.names = FALSE)
