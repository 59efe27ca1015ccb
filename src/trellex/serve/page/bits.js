// Bits as cells: above what the network said, below it what the trellis made of it, then the bit itself.

import { make } from "./elements.js";
import { percent } from "./numbers.js";

const cell = (probability) => make("span", { class: "cell", style: { "--p": probability } });

function bit(place, value, posterior, said, isCorrected) {
  const heard = said === undefined ? "" : `network ${percent(said)} for 1, `;
  const label = `Bit ${place + 1}: ${heard}trellis ${percent(posterior)} for 1, ${isCorrected ? `corrected to ${value}` : `it is ${value}`}`;
  return make(
    "span",
    { class: isCorrected ? "bit corrected" : "bit", role: "img", "aria-label": label, title: label },
    said === undefined ? null : cell(said),
    cell(posterior),
    make("span", { class: "digit", "aria-hidden": "true" }, String(value)),
  );
}

export function bitCells(reading) {
  const hasCodeWord = reading.code_word.length > 0;
  const bits = hasCodeWord ? reading.code_word : reading.bits;
  const steps = reading.states.length - 1;
  const each = Math.max(1, Math.round(bits.length / steps));
  const corrected = new Set(reading.corrected);
  const list = make("ol", { class: "bits" });
  for (let first = 0; first < bits.length; first += each) {
    const step = make("li", { class: hasCodeWord && first / each >= reading.bits.length ? "step tail" : "step" });
    for (let place = first; place < Math.min(first + each, bits.length); place += 1) {
      step.append(bit(place, bits[place], reading.posterior[place], hasCodeWord ? reading.said[place] : undefined, corrected.has(place)));
    }
    list.append(step);
  }
  const key = make(
    "p",
    { class: "key-to" },
    make("span", {}, "0", make("span", { class: "ramp" }), "1"),
    hasCodeWord ? make("span", {}, "above: the network; below: after the trellis") : make("span", {}, "how probable a 1 is, over all words"),
    corrected.size ? make("span", {}, make("span", { class: "mark" }), "corrected: its digit is underlined") : null,
  );
  return [list, key];
}
