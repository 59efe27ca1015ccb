// The trellis as a picture: states from top to bottom, bits from left to right, and the ways of the best words.

import { draw } from "./elements.js";
import { nameOf } from "./words.js";

const STEP = 34;
const TOP = 10;
const HEIGHT = 190;
const SIDE = 14;
const MOST_DOTS = 4000;

export function trellis(word) {
  const { states, num_states: size, bits } = word.reading;
  const steps = states.length - 1;
  const width = 2 * SIDE + steps * STEP;
  const x = (step) => SIDE + step * STEP;
  const y = (state) => TOP + (state / (size - 1)) * HEIGHT;
  const points = (way) => way.map((state, step) => `${x(step)},${y(state)}`).join(" ");
  const svg = draw("svg", {
    class: "trellis",
    viewBox: `0 0 ${width} ${TOP + HEIGHT + 30}`,
    role: "img",
    "aria-label": `The way of ${nameOf(word.token)} through ${size} states: ${states.join(", ")}`,
  });
  if (steps > bits.length) {
    const begin = x(bits.length);
    svg.append(
      draw("rect", { class: "tail-area", x: begin, y: 0, width: width - begin, height: TOP + HEIGHT + 10, rx: 4 }),
      draw("text", { class: "tail-name", x: (begin + x(steps)) / 2, y: TOP + HEIGHT + 25 }, "zeros lead back"),
    );
  }
  const every = Math.ceil(((steps + 1) * size) / MOST_DOTS);
  for (let step = 0; step <= steps; step += 1) {
    for (let state = 0; state < size; state += every) {
      svg.append(draw("circle", { class: "dot", cx: x(step), cy: y(state), r: size > 16 ? 0.9 : 2 }));
    }
  }
  const rivals = word.best.map((each) =>
    each.states && each.token !== word.token
      ? draw("polyline", {
          class: "rival",
          points: points(each.states),
          "stroke-opacity": Math.max(0.16, Math.min(0.9, Math.sqrt(each.probability))),
        })
      : null,
  );
  svg.append(...rivals.filter(Boolean), draw("polyline", { class: "way", points: points(states) }));
  for (const [step, state] of states.entries()) svg.append(draw("circle", { class: "state", cx: x(step), cy: y(state), r: 3.5 }));
  for (const [step, bit] of bits.entries()) svg.append(draw("text", { x: x(step) + STEP / 2, y: TOP + HEIGHT + 25 }, String(bit)));
  const highlight = (shown) => rivals.forEach((rival, place) => rival?.classList.toggle("shown", place === shown));
  return { svg, highlight };
}
