// What the output layer said of one word: bits, the way through the trellis, the best words and shelves.

import { bitCells } from "./bits.js";
import { make } from "./elements.js";
import { count, percent, plural } from "./numbers.js";
import { trellis } from "./trellis.js";
import { nameOf } from "./words.js";

const strong = (text) => make("strong", {}, text);

function story(word, model) {
  const { reading, layer, best } = word;
  const isBest = best[0]?.token === word.token;
  const rank = isBest ? "" : " It is not the most probable word here.";
  if (layer === "softmax") {
    if (word.others === undefined) return [`It has the score of its own that a softmax gives every word.${rank}`];
    return [`It is a frequent word, with a score of its own.${rank} All words that bits spell have ${percent(word.others)} together.`];
  }
  if (layer === "shelf") {
    return [
      `It stands on shelf ${count(reading.number)}, `,
      strong(`one of ${count(model.shelves)} that ${plural(reading.bits.length, "bit")} number`),
      `. The words on the most probable shelves are compared one by one.${rank}`,
    ];
  }
  const number = `Its number is ${count(reading.number)}: `;
  const part = reading.weight < 1 ? ` These are the bits of the set that says most for it, ${percent(reading.weight)}.` : "";
  if (!reading.code_word.length) {
    return [number, strong(plural(reading.bits.length, "bit")), `, each weighed by those before it.${part}${rank}`];
  }
  if (reading.code_word.length === reading.bits.length) {
    return [number, strong(plural(reading.bits.length, "bit")), ` without redundancy.${part}${rank}`];
  }
  const wrong = plural(reading.corrected.length, "bit");
  const bits = `${plural(reading.bits.length, "bit")}, which the code makes ${reading.code_word.length}. `;
  if (!reading.corrected.length) return [number, bits, strong("The network had all of them right."), part, rank];
  const [isAre, them] = reading.corrected.length === 1 ? ["1 bit is", "it"] : [`${wrong} are`, "them"];
  return isBest
    ? [number, bits, strong(`Read one by one, ${isAre} wrong; the trellis corrected ${them}.`), part]
    : [number, bits, strong(`Read one by one, ${wrong} would be others.`), part, rank];
}

function bars(word, language, onLook) {
  const isAmong = word.best.some((each) => each.token === word.token);
  const own = { token: word.token, probability: Math.exp(word.log_prob) };
  return make(
    "ol",
    { class: "bars" },
    ...[...word.best, ...(isAmong ? [] : [own])].map((each, place) =>
      make(
        "li",
        {
          class: each.token === word.token ? "is-chosen" : undefined,
          on: { pointerenter: () => onLook(place), pointerleave: () => onLook(null) },
        },
        make("span", { class: "name", lang: language, title: each.token }, nameOf(each.token)),
        make("span", { class: "bar-of", "aria-hidden": "true" }, make("span", { style: { "--p": each.probability } })),
        make("span", { class: "value" }, percent(each.probability)),
      ),
    ),
  );
}

function shelves(word, language) {
  const shelf = (each) =>
    make(
      "li",
      { class: each.number === word.reading.number ? "shelf is-chosen" : "shelf" },
      make("p", { class: "shelf-head" }, make("span", {}, `shelf ${count(each.number)}`), make("span", {}, percent(each.probability))),
      make("span", { class: "bar-of", "aria-hidden": "true" }, make("span", { style: { "--p": each.probability } })),
      make(
        "ul",
        {},
        ...each.words.map((one) =>
          make(
            "li",
            { class: one.token === word.token ? "is-word" : undefined },
            make("span", { lang: language }, nameOf(one.token)),
            make("span", {}, percent(one.probability)),
          ),
        ),
      ),
    );
  return make("ol", { class: "shelves" }, ...word.shelves.map(shelf));
}

const block = (title, isAlone, ...children) =>
  make("section", { class: isAlone ? "alone" : undefined }, make("h3", {}, title), ...children);

export function detail(word, model, onClose) {
  const { reading } = word;
  const drawing = reading && reading.num_states > 1 ? trellis(word) : null;
  const isShort = reading && !reading.code_word.length;
  const bits = reading ? block(word.shelves ? "Bits of the shelf" : isShort ? "Bits" : "Bits of its code word", true, ...bitCells(reading)) : null;
  const best = block("Best words here", !drawing, bars(word, model.target, (place) => drawing?.highlight(place)));
  return [
    make(
      "div",
      { class: "detail-head" },
      make("p", { class: "chosen", lang: word.token === "</s>" ? undefined : model.target }, nameOf(word.token)),
      make("p", { class: "share" }, percent(Math.exp(word.log_prob))),
      make("button", { type: "button", class: "quiet close", on: { click: onClose } }, "Close"),
    ),
    make("p", { class: "story" }, ...story(word, model)),
    make(
      "div",
      { class: "evidence" },
      isShort ? make("div", {}, bits, best) : bits,
      drawing ? block(`${word.shelves ? "Way to the shelf" : "Way"} through ${count(reading.num_states)} states`, false, drawing.element) : null,
      isShort ? null : best,
      word.shelves ? block("Most probable shelves", true, shelves(word, model.target)) : null,
    ),
  ];
}
