# What R says of scores.csv, written to results.json: Rscript make.R in this folder.
library(pROC)
library(jsonlite)

rows <- read.csv("scores.csv")
positive <- rows$case == 1

describe <- function(score) {
  curve <- roc(rows$case, score, levels = c(0, 1), direction = "<", quiet = TRUE)
  area <- as.numeric(auc(curve))
  error <- sqrt(var(curve, method = "delong"))
  limits <- function(level) {
    list(
      level = level,
      # pROC's own interval is symmetric in the AUC; ours, in its logit.
      symmetric = as.numeric(ci.auc(curve, conf.level = level, method = "delong"))[c(1, 3)],
      logit = plogis(qlogis(area) + c(-1, 1) * qnorm((1 + level) / 2) * error / (area * (1 - area)))
    )
  }
  rate <- function(part, whole) c(part / whole, as.numeric(binom.test(part, whole)$conf.int))
  point <- function(threshold) {
    found <- coords(curve, threshold, transpose = FALSE, ret = c("tp", "tn", "fp", "fn"))
    list(
      threshold = threshold,
      sensitivity = rate(found$tp, found$tp + found$fn),
      specificity = rate(found$tn, found$tn + found$fp),
      ppv = rate(found$tp, found$tp + found$fp),
      npv = rate(found$tn, found$tn + found$fn)
    )
  }
  youden <- coords(curve, "best", best.method = "youden", transpose = FALSE)
  fit <- glm(rows$case ~ score, family = binomial, control = list(epsilon = 1e-14, maxit = 100))
  list(
    auc = area,
    standard_error = error,
    limits = lapply(c(0.8, 0.95, 0.99), limits),
    points = lapply(c(-0.55, 0.05, 0.45), point),
    youden = youden$sensitivity[1] + youden$specificity[1] - 1,
    logistic = rev(as.numeric(coef(fit)))
  )
}

test <- roc.test(
  roc(rows$case, rows$first, levels = c(0, 1), direction = "<", quiet = TRUE),
  roc(rows$case, rows$second, levels = c(0, 1), direction = "<", quiet = TRUE),
  method = "delong", paired = TRUE
)
results <- list(
  made_by = paste0(R.version.string, ", pROC ", packageVersion("pROC")),
  first = describe(rows$first),
  second = describe(rows$second),
  test = list(statistic = as.numeric(test$statistic), pvalue = test$p.value)
)
write_json(results, "results.json", auto_unbox = TRUE, digits = NA, pretty = TRUE)
