"""Examples of the commands that ask, the most common uses first."""

from __future__ import annotations

PRICE = """
epsilon: how much the answer can reveal about one person; smaller is more private and less accurate.
delta: a bound on the small probability that this promise fails; keep it far below 1 / number of users.
"""
TERMS = f"""{PRICE.rstrip()}
exit status: 0 done (even if fewer than k items were returned), 2 a parameter is wrong, 3 the data cannot be
read, 4 the output cannot be written, 5 the budget is too small, 6 the ledger cannot be used, 9 a gateway gives no
answer, 130 interrupted, 1 anything else.
"""

EXAMPLES = {
    "top": """
examples:
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --delta 1e-6
      The ten artists that most users played; no list of artists is needed.
  dpselect top logs/*.csv --user uid --item page --where "country = 'DE'" --epsilon 0.5 --counts -o top.csv
      German visitors only, with noisy numbers of users, into a file.
  dpselect top films.parquet --user u --item film -k 5 --epsilon 1 --domain-from a.csv:film --measures "mean(stars,1,5)"
      Exactly five of the films listed in another, public file, without any delta; and the mean of each one's stars.
  dpselect top plays.parquet --user user --item artist -k 10 --epsilon 1 --by country --counts
      The ten artists of every country; in how many countries a user counts is chosen privately.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --time at --period month --during 2026-10
      Of October 2026 alone; the promise is for one user in one month. With --compared-with 2026-09 what rose most.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --budget budget.sqlite --analyst ann
      Charged to ann's budget; refused before any row is read if the budget is too small.
  dpselect top plays.parquet --user user --item artist -k 10 --within 50
      With 95 % confidence no artist of the ten has over 50 users fewer than the tenth best; the epsilon that this takes
      is printed first.
  dpselect top plays.parquet --user user --item artist --epsilon 1 --by-weight minutes --at-most 60 --counts
      The artists with the largest sums of minutes, of which one user gives an artist at most 60; noisy sums.
""",
    "choose": """
examples:
  dpselect choose poll.csv --user voter --item option --domain red,green,blue --epsilon 0.5
      The option that most voters chose.
  dpselect choose models.csv --label model --score correct --epsilon 1
      One of a list of models by a score that depends on private data, where one user moves a score by at most 1.
  dpselect choose models.csv --label model --score correct --epsilon 1 --monotonic --method permute-and-flip
      The same if one more user can only raise scores: twice as accurate.
  dpselect choose poll.csv --user voter --item option --domain red,green,blue --epsilon 0.5 --by city
      The same in each city that enough voters are in, at the price of one: a voter counts in one city.
""",
    "histogram": """
examples:
  dpselect histogram visits.parquet --user visitor --item month --domain-range 1..12 --epsilon 1
      The number of visitors in each month, one to twelve, empty months included.
  dpselect histogram poll.csv --user voter --item answer --domain yes,no --max-items-per-user 1 --epsilon 0.5
      The number of voters for each answer; each voter counts for one answer only.
  dpselect histogram a.csv --user u --item i --domain-from b.csv:i --max-items-per-user 50 --epsilon 1 --delta 1e-6
      Every item of another, public file; as a user counts for so many, a delta makes the noise smaller.
""",
    "quantile": """
examples:
  dpselect quantile people.csv --user id --item age --type age=BIGINT --bounds 0 120 --step 1 --epsilon 1
      The median age, in whole years.
  dpselect quantile people.parquet --user id --item income --q 0.1,0.5,0.9 --bounds 0 1e6 --epsilon 1 --delta 1e-6
      Three quantiles for one price; a delta makes several of them more accurate.
  dpselect quantile people.csv --user id --item age --type age=BIGINT --bounds 0 120 --step 1 --within 100
      The median again: with 95 % confidence at most 100 people off, by counted values; the epsilon that this takes is
      printed first.
  dpselect quantile visits.parquet --user id --item seconds --per-user max --bounds 0 3600 --epsilon 0.5
      The median of everybody's longest visit.
  dpselect quantile visits.parquet --user id --item bytes --step 1 --epsilon 1
      The median without known bounds; the answer has six digits.
  dpselect quantile people.parquet --user id --item age --bounds 0 120 --step 1 --epsilon 1 --by country --groups DE,FR
      The median of each of these two countries, which share the price: a user counts in both.

Choose the bounds without looking at the data: values beyond count as the bound.
""",
    "users": """
examples:
  dpselect users plays.parquet --user user --epsilon 1
      How many users there are: no column of items is needed.
  dpselect users plays.parquet --user user --where "country = 'DE'" --within 50
      The users of some rows: with 95 % confidence at most 50 off; the epsilon that this takes is printed first.
  dpselect users plays.parquet --user user --epsilon 1 --by country --groups DE,FR
      The users in each of two countries, which share the price: a user counts in both.
""",
    "union": """
examples:
  dpselect union plays.parquet --user user --item artist --epsilon 1
      Every artist that enough users played; no list of artists is needed.
  dpselect union logs/*.csv --user uid --item page --epsilon 1 --delta 1e-8 --counts -o pages.csv
      The pages with noisy numbers of users, which share the price, into a file.
  dpselect union plays.parquet --user user --item artist --threshold 100 --max-items-per-user 50 --format lines
      At the epsilon with which an artist whom 100 users played, and who played nobody else, is found with 95 %
      confidence. One artist a line; the statement goes to standard error. At most 50 random artists of each user count.
  dpselect union posts.csv --user author --item tags --split ";" --epsilon 1 --method greedy-geometric
      From a column that holds several tags in a row, by a method that you choose.
  dpselect union mail.parquet --user sender --text body --epsilon 1 -o words.txt
      The words that enough people write, one a line.
  dpselect union mail.parquet --user sender --text body --ngrams 1-3 --epsilon 3 --shares 1/2,1/3,1/6 -o ngrams.csv
      One to three words in a row, as a table; half of the budget is for single words.
  dpselect union mail.parquet --user sender --text body --ngrams 2 --no-lower --epsilon 3
      Two words in a row only, capitals as they were written.
  dpselect union notes.csv --user id --text note --tokenizer "re:#[a-z]+" --epsilon 1 --format lines
      What a pattern matches, here hashtags.
""",
}
