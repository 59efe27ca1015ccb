// The words of a translation as buttons, each with its bits as a bar code.

import { draw, make } from "./elements.js";
import { percent, plural } from "./numbers.js";

export const END = "</s>";

export const nameOf = (token) => (token === END ? "end" : token);

const probability = (word) => Math.exp(word.log_prob);

function barCode(reading) {
  const bits = reading.code_word.length ? reading.code_word : reading.bits;
  const corrected = new Set(reading.corrected);
  return draw(
    "svg",
    { class: "code", viewBox: `0 0 ${bits.length} 4`, preserveAspectRatio: "none", "aria-hidden": "true" },
    ...bits.map((bit, place) =>
      draw("rect", {
        class: corrected.has(place) ? "corrected" : bit ? "one" : "zero",
        x: place + 0.1,
        width: 0.8,
        height: 4,
      }),
    ),
  );
}

function label(word) {
  const corrected = word.reading?.corrected.length ?? 0;
  const told = corrected ? `, ${plural(corrected, "bit")} corrected` : "";
  return `${word.token === END ? "end of the sentence" : word.token}, ${percent(probability(word))}${told}`;
}

// A list of buttons for a sentence; `events` has choose(place, button) and look(place or null).
export function wordList(sentence, language, events) {
  const buttons = sentence.words.map((word, place) =>
    make(
      "button",
      {
        type: "button",
        class: word.token === END ? "word end" : "word",
        "aria-expanded": "false",
        "aria-controls": "detail",
        "aria-label": label(word),
        on: {
          click: () => events.choose(place),
          pointerenter: () => events.look(place),
          pointerleave: () => events.look(null),
          focus: () => events.look(place),
          blur: () => events.look(null),
        },
      },
      make("span", word.token === END ? {} : { lang: language }, nameOf(word.token)),
      word.reading ? barCode(word.reading) : null,
    ),
  );
  const list = make("ol", { class: "words" }, ...buttons.map((button) => make("li", {}, button)));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const place = buttons.indexOf(document.activeElement) + (step ?? 0);
    if (step && buttons[place]) {
      event.preventDefault();
      buttons[place].focus();
    }
  });
  return { list, buttons };
}
