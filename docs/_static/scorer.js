/* The order of search results: what readers do comes before what maintainers decided. */
var FIRST = [
  [/^(tutorial|how-to)\//, 12],
  [/^explanation\/questions$/, 12],
  [/^reference\/(operations|errors)/, 6],
  [/^contributing\//, -12],
  [/^adr\//, -12],
  [/^explanation\/(architecture|commonmark-notes)$/, -8],
];
var Scorer = {
  score: ([page, , , , score]) =>
    FIRST.reduce((sum, [pattern, bonus]) => sum + (pattern.test(page) ? bonus : 0), score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
