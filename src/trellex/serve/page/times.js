// Where the time went, as a bar of three parts.

import { make } from "./elements.js";
import { milliseconds } from "./numbers.js";

const NAMES = { encoder: "encoder", decoder: "decoder", output_layer: "output layer" };

export function times(sentences) {
  const spent = Object.keys(NAMES).map((part) => [part, sentences.reduce((sum, each) => sum + each.milliseconds[part], 0)]);
  return [
    make("div", { class: "bar", "aria-hidden": "true" }, ...spent.map(([part, value]) => make("span", { class: part, style: { "--share": value } }))),
    make("ul", { "aria-label": "Time spent" }, ...spent.map(([part, value]) => make("li", { class: part }, `${NAMES[part]} ${milliseconds(value)}`))),
  ];
}
