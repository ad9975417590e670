# The reference of test_mixed_logistic.py: what lme4's glmer makes of the same answers.
# Rscript mixed_logistic_reference.R answers.csv fits.csv; columns set, unit, item, method, model, phenomenon, value.
suppressMessages(library(lme4))
files <- commandArgs(TRUE)
answers <- read.csv(files[1], na.strings = "")
fits <- lapply(unique(answers$set), function(set) {
  x <- answers[answers$set == set, ]
  methods <- sort(unique(x$method)); models <- sort(unique(x$model))
  k <- length(methods); m <- length(models)
  terms <- c(if (k > 1) "method", if (m > 1) "model", if (!anyNA(x$phenomenon)) "phenomenon")
  if (k > 1 && m > 1 && m < 4) for (a in methods[-1]) for (b in models[-1]) {
    name <- paste0("both", a, b)
    x[[name]] <- ((x$method == a) - 1 / k) * ((x$model == b) - 1 / m)
    terms <- c(terms, name)
  }
  random <- c(
    if (length(unique(x$item)) > length(unique(x$unit))) "(1|item)", "(1|unit)",
    if (k > 1 && m > 1) c("(1|unit:method)", "(1|unit:model)"), if (k > 1 && m >= 4) "(1|method:model)"
  )
  formula <- as.formula(paste("value ~", paste(c(terms, random), collapse = "+")))
  control <- glmerControl(optimizer = c("bobyqa", "bobyqa"), optCtrl = list(maxfun = 1e5), tolPwrss = 1e-10)
  fit <- suppressMessages(suppressWarnings(glmer(formula, x, family = binomial, control = control)))
  found <- coef(summary(fit)); spread <- as.data.frame(VarCorr(fit))
  data.frame(
    set = set, name = c(rownames(found), spread$grp), value = c(found[, 1], spread$vcov),
    se = c(found[, 2], rep(NA, nrow(spread)))
  )
})
write.csv(do.call(rbind, fits), files[2], row.names = FALSE)
