# The reference of test_mixed_covariates.py: Rscript mixed_covariates_reference.R cells.csv fits.csv
# cells.csv has columns set, unit, method, model, family, x, value.
suppressMessages({ library(lme4); library(lmerTest) })
files <- commandArgs(TRUE)
cells <- read.csv(files[1])
fits <- lapply(unique(cells$set), function(set) {
  d <- cells[cells$set == set, ]
  once <- d[!duplicated(d$model), ]
  d$size <- d$x - mean(once$x)
  d$z <- d$size / sqrt(mean((once$x - mean(once$x))^2))
  control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-9, maxfun = 5e4), calc.derivs = FALSE)
  # bobyqa may stop at another than the lowest criterion: of two starts, the lower
  formula <-
    value ~ size * method + (1 | unit) + (1 | unit:method) + (1 | unit:model) + (0 + z | unit) + (0 + z | unit:method) +
      (1 | model) + (1 | model:method) + (1 | family) + (1 | family:method) + (0 + z | family) + (0 + z | family:method)
  tried <- lapply(c(1, 0.3), function(at) {
    suppressMessages(suppressWarnings(lmer(formula, d, control = control, start = rep(at, 11))))
  })
  fit <- tried[[which.min(sapply(tried, REMLcrit))]]
  found <- coef(summary(fit))
  data.frame(set = set, name = rownames(found), value = found[, 1], se = found[, 2], df = found[, 3])
})
write.csv(do.call(rbind, fits), files[2], row.names = FALSE)
