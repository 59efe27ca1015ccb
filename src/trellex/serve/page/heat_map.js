// Attention as a table: a row for each word that was written, a column for each that was read.

import { make } from "./elements.js";
import { percent } from "./numbers.js";
import { nameOf } from "./words.js";

const MOST_CELLS = 10_000;

export function heatMap(sentence, model, number) {
  if (sentence.words.length * sentence.source.length > MOST_CELLS) {
    return { element: make("p", { class: "hint" }, "This sentence is too long to draw."), activate: () => {} };
  }
  const rows = sentence.words.map((word) =>
    make(
      "tr",
      {},
      make("th", { scope: "row", lang: model.target }, nameOf(word.token)),
      ...word.attention.map((share) =>
        make("td", { style: { "--share": share }, title: percent(share) }, make("span", { class: "unseen" }, percent(share))),
      ),
    ),
  );
  const columns = sentence.source.map((token) => make("th", { scope: "col", lang: model.source }, make("span", {}, token)));
  const table = make(
    "table",
    { class: "heat" },
    make("caption", { class: "unseen" }, "How much each source word counted for each word of the translation"),
    make("thead", {}, make("tr", {}, make("td", {}), ...columns)),
    make("tbody", {}, ...rows),
  );
  table.querySelector("thead td").className = "corner";
  const element = make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Attention of sentence ${number}` }, table);
  return { element, activate: (place) => rows.forEach((row, each) => row.classList.toggle("active", each === place)) };
}
