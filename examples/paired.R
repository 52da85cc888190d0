# An outcome of your own, joined by session and compared over clusters: docs/experiments.md, in R.

rows <- jsonlite::stream_in(file("rows.jsonl"), verbose = FALSE)
mine <- merge(read.csv("outcome.csv"), unique(rows[c("session", "cluster")]))
mine$weight <- 1

paired <- function(table, a, b, draws = 10000, seed = 0) {
  table <- table[table$preset %in% c(a, b), ]
  both <- tapply(table$preset, table$session, function(p) length(unique(p)) == 2)
  table <- table[both[table$session], ]
  sums <- function(of, p) tapply(table[[of]] * (table$preset == p), table$cluster, sum)
  value <- cbind(sums("value", a), sums("value", b))
  weight <- cbind(sums("weight", a), sums("weight", b))
  by <- function(picks) {
    ratio <- colSums(value[picks, , drop = FALSE]) / colSums(weight[picks, , drop = FALSE])
    ratio[1] - ratio[2]
  }
  set.seed(seed)
  n <- nrow(value)
  drawn <- replicate(draws, by(sample.int(n, replace = TRUE)))
  c(by(seq_len(n)), quantile(drawn, c(0.025, 0.975), na.rm = TRUE))
}

print(paired(mine, "indexed", "window+extractive"))
