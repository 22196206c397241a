# Load each CSV of an export by one line of its README and lay the columns down as bytes:
#   Rscript load_export.R EXPORT LINE OUT
# LINE holds marts_ranking, which stands for any table. A number is a double (missing: NaN), a text
# is UTF-8 with a zero byte after it (missing: "\001"). OUT/classes.tsv tells what R took each for.
given <- commandArgs(TRUE)
setwd(given[1])
told <- file(file.path(given[3], "classes.tsv"), "wb")
for (path in list.files("csv")) {
  name <- sub("[.]csv$", "", path)
  frame <- eval(parse(text = gsub("marts_ranking", name, given[2], fixed = TRUE)))
  for (place in seq_along(frame)) {
    column <- frame[[place]]
    out <- file(file.path(given[3], sprintf("%s.%d", name, place)), "wb")
    if (is.character(column)) {
      column <- enc2utf8(column)
      column[is.na(column)] <- "\001"
      writeBin(column, out, useBytes = TRUE)
    } else {
      column <- as.double(column)
      column[is.na(column)] <- NaN
      writeBin(column, out, endian = "little")
    }
    close(out)
    row <- c(name, place, names(frame)[place], class(frame[[place]])[1], nrow(frame))
    writeLines(paste(row, collapse = "\t"), told, useBytes = TRUE)
  }
}
close(told)
