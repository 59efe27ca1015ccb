// The idea in a sentence, with the numbers of the model that is served.

import { make } from "./elements.js";
import { count, plural } from "./numbers.js";

const strong = (text) => make("strong", {}, text);

export function idea(model) {
  const scores = `instead of ${count(model.words)} scores`;
  if (model.shelves) {
    return [
      strong(`${count(model.outputs)} numbers ${scores}: `),
      `a trellis finds ${model.visited} of ${count(model.shelves)} shelves by ${model.bits} bits, ` +
        "and only the words on those are compared.",
    ];
  }
  if (!model.bits) {
    return [strong(`${count(model.words)} scores, one a word: `), "the ordinary output layer, to compare with."];
  }
  const rare = model.frequent_words
    ? [
        strong(`${count(model.outputs)} outputs ${scores}: `),
        `${count(model.frequent_words)} frequent words have a score each, all others are read from `,
      ]
    : null;
  if (!model.redundant_bits) {
    const trellis = `a trellis of ${count(model.states)} states, bit by bit.`;
    return rare ? [...rare, trellis] : [strong(`${count(model.outputs)} outputs ${scores}: `), `every word is read from ${trellis}`];
  }
  const corrects = model.states > 1;
  const sets = model.mixtures ? `${model.mixtures} sets of ` : "";
  const bits = sets + plural(model.redundant_bits, "bit");
  const how = corrects ? ", and a trellis corrects those that the network gets wrong." : ".";
  if (rare) return [...rare, `${bits}${how}`];
  return [strong(`${bits} ${scores}: `), `every word is spelt in bits${how}`];
}
