// The trellis as a picture: states from top to bottom, bits from left to right, and the ways of the best words.

import { draw, make } from "./elements.js";
import { nameOf } from "./words.js";

const SIDE = 12;
const TOP = 10;
const HEIGHT = 190;
const WIDEST_STEP = 44;
const MOST_DOTS = 3000;

function picture(word, rivals, wanted) {
  const { states, num_states: size, bits } = word.reading;
  const steps = states.length - 1;
  const gap = Math.min(WIDEST_STEP, (wanted - 2 * SIDE) / steps);
  const width = 2 * SIDE + steps * gap;
  const bottom = TOP + HEIGHT;
  const x = (step) => SIDE + step * gap;
  const y = (state) => TOP + (state / (size - 1)) * HEIGHT;
  const points = (way) => way.map((state, step) => `${x(step).toFixed(1)},${y(state).toFixed(1)}`).join(" ");
  const svg = draw("svg", {
    class: "trellis",
    width,
    height: bottom + 30,
    role: "img",
    "aria-label": `The way of ${nameOf(word.token)} through ${size} states: ${states.join(", ")}`,
  });
  if (steps > bits.length) {
    const begin = x(bits.length);
    svg.append(
      draw("rect", { class: "tail-area", x: begin, y: 0, width: width - begin, height: bottom + 10, rx: 4 }),
      draw("text", { class: "tail-name", x: (begin + width) / 2, y: bottom + 25 }, width - begin > 90 ? "zeros lead back" : "zeros"),
    );
  }
  const every = Math.ceil(((steps + 1) * size) / MOST_DOTS);
  for (let step = 0; step <= steps; step += 1) {
    for (let state = 0; state < size; state += every) {
      svg.append(draw("circle", { class: "dot", cx: x(step), cy: y(state), r: size > 16 ? 0.9 : 2 }));
    }
  }
  for (const [place, each] of word.best.entries()) {
    if (!each.states || each.token === word.token) continue;
    const opacity = Math.max(0.2, Math.min(0.9, Math.sqrt(each.probability)));
    rivals[place] = draw("polyline", { class: "rival", points: points(each.states), "stroke-opacity": opacity });
    svg.append(rivals[place]);
  }
  svg.append(draw("polyline", { class: "way", points: points(states) }));
  for (const [step, state] of states.entries()) {
    svg.append(draw("circle", { class: "state", cx: x(step), cy: y(state), r: gap > 18 ? 3.5 : 2.5 }));
  }
  for (const [step, bit] of bits.entries()) {
    svg.append(draw("text", { x: x(step) + gap / 2, y: bottom + 25 }, String(bit)));
  }
  return svg;
}

// An element that is drawn anew when its width changes; `highlight` shows the way of one of the best words.
export function trellis(word) {
  const rivals = [];
  const element = make("div", { class: "trellis-room" });
  let drawn = 0;
  new ResizeObserver(() => {
    if (element.clientWidth && element.clientWidth !== drawn) {
      drawn = element.clientWidth;
      element.replaceChildren(picture(word, rivals, drawn));
    }
  }).observe(element);
  const highlight = (shown) => rivals.forEach((rival, place) => rival?.classList.toggle("shown", place === shown));
  return { element, highlight };
}
