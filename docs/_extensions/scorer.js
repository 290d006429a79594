// Which results of a search come first: names and pages that bear the words, then tutorials and guides.
// Without this, pages in which any heading has the word come in the order of the alphabet.
var Scorer = {
  score: ([page, title, anchor, , score, , kind]) => {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const whole = query.toLowerCase().trim();
    const words = whole.split(/\s+/).filter((word) => word);
    if (kind === "object") return score + (words.includes(title.toLowerCase().split(".").pop()) ? 12 : 0);
    if (/^decisions\/|\/(benchmarks|changelog|contributing)$/.test(page)) return score - 6;
    const near = /^(learn|guides)\//.test(page) ? 6 : /^(why|mechanisms)\//.test(page) ? 0 : 4;
    if (anchor) return score + near + (title.toLowerCase().endsWith(`> ${whole}`) ? 6 : 0);
    return score + near + (words.every((word) => title.toLowerCase().includes(word)) ? 12 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
