// The page: asks as the text changes, and shows the answer.

import { readAddress, writeAddress } from "./address.js";
import { detail } from "./detail.js";
import { byId, make, show } from "./elements.js";
import { heatMap } from "./heat_map.js";
import { idea } from "./idea.js";
import { count } from "./numbers.js";
import { Questions, get } from "./questions.js";
import { times } from "./times.js";
import { wordList } from "./words.js";

const PAUSE = 350; // milliseconds without a key
const BEST = 6;
const MOST_CHARACTERS = 1000; // that a server explains

const questions = new Questions();
let models = [];
let most = MOST_CHARACTERS; // that this server explains
let seed = 0;
let pause = null;
let shown = null; // of the answer: sentences with their buttons and heat maps
let chosen = null; // [sentence, word]

const form = byId("form");
const text = byId("text");
const panel = byId("detail"); // stands behind the words of the sentence that the chosen one is in
const model = () => models[Number(byId("pair").value) || 0];
const search = () => form.elements.search.value;

function asked() {
  const { source, target } = model();
  const beam = Math.round(Math.min(50, Math.max(2, byId("beam").valueAsNumber || 5)));
  const numbers = { beam, temperature: byId("temperature").valueAsNumber, seed };
  return { q: text.value, source, target, search: search(), ...numbers, k: BEST };
}

function remember() {
  const { q, source, target, search: way, beam, temperature } = asked();
  const isFirst = model() === models[0];
  writeAddress({
    q: q.trim(),
    pair: isFirst ? "" : `${source}-${target}`,
    search: way,
    beam: way === "beam" ? beam : 5,
    temperature: way === "sample" ? temperature : 1,
    seed: way === "sample" ? seed : 0,
  });
}

function askSoon() {
  clearTimeout(pause);
  pause = setTimeout(ask, PAUSE);
}

async function ask() {
  clearTimeout(pause);
  if (!models.length) return;
  const length = [...text.value].length;
  if (length > most) {
    questions.drop();
    clear();
    tell(`The text has ${count(length)} characters, more than the ${count(most)} that are explained at a time. Shorten it.`);
    return;
  }
  remember();
  if (!text.value.trim()) {
    questions.drop();
    clear();
    return;
  }
  byId("translation").classList.add("waiting");
  try {
    const key = byId("key").value ? { api_key: byId("key").value } : {};
    const answer = await questions.ask("explain", { ...asked(), ...key });
    if (answer) present(answer);
  } catch (error) {
    clear();
    tell(error.message);
  }
}

function tell(problem) {
  byId("problem").textContent = problem ? problem[0].toUpperCase() + problem.slice(1) : "";
  show(byId("problem"), Boolean(problem));
}

function clear() {
  shown = chosen = null;
  tell("");
  byId("translation").classList.remove("waiting");
  byId("translation").textContent = "";
  for (const id of ["word-by-word", "attention", "times", "copy", "read"]) show(byId(id), false);
}

function present(answer) {
  tell("");
  const { sentences, translatedText } = answer;
  byId("translation").classList.remove("waiting");
  byId("translation").textContent = translatedText;
  byId("times").replaceChildren(...times(sentences));
  shown = sentences.map((sentence, place) => ({
    sentence,
    read: sentence.source.map((token, each) => readToken(token, sentence.unknown.includes(each))),
    map: heatMap(sentence, model(), place + 1),
    ...wordList(sentence, model().target, {
      choose: (word) => choose(chosen?.[0] === place && chosen?.[1] === word ? null : [place, word]),
      look: (word) => look(word === null ? chosen : [place, word]),
    }),
  }));
  byId("words").after(panel);
  byId("words").replaceChildren(...shown.map((each) => each.list));
  byId("heat-maps").replaceChildren(...shown.map((each) => each.map.element));
  byId("read").replaceChildren(...shown.flatMap((each) => each.read));
  for (const id of ["word-by-word", "times", "read"]) show(byId(id), true);
  show(byId("copy"), Boolean(navigator.clipboard)); // which only safe addresses have
  show(byId("attention"), sentences.some(({ words }) => words.some((word) => word.attention.length)));
  choose(chosen && shown[chosen[0]]?.sentence.words[chosen[1]] ? chosen : null);
}

function readToken(token, isUnknown) {
  if (!isUnknown) return make("span", {}, token);
  return make("span", { class: "unknown", title: "The model does not know this word" }, token, make("span", { class: "unseen" }, " (unknown)"));
}

function choose(place) {
  chosen = place;
  for (const [sentence, each] of shown.entries()) {
    each.list.onkeydown = null;
    each.buttons.forEach((button, word) => {
      button.setAttribute("aria-expanded", String(place?.[0] === sentence && place?.[1] === word));
    });
  }
  show(panel, place !== null);
  show(byId("hint"), place === null);
  if (place) {
    const { sentence, buttons, list } = shown[place[0]];
    const close = () => {
      choose(null);
      buttons[place[1]].focus();
    };
    panel.replaceChildren(...detail(sentence.words[place[1]], model(), close));
    panel.onkeydown = list.onkeydown = (event) => event.key === "Escape" && close();
    list.after(panel);
  } else {
    byId("words").after(panel);
  }
  look(place);
}

// Show which source words a word looked at; null for none.
function look(place) {
  for (const [number, { sentence, read, map }] of shown.entries()) {
    const word = place?.[0] === number ? place[1] : null;
    map.activate(word);
    const shares = word === null ? [] : sentence.words[word].attention;
    read.forEach((token, each) => token.style.setProperty("--share", shares[each] ?? 0));
  }
}

function showOptions() {
  show(byId("beam-field"), search() === "beam");
  show(byId("temperature-field"), search() === "sample");
  show(byId("again"), search() === "sample");
  byId("temperature-value").value = byId("temperature").valueAsNumber.toFixed(1);
}

function showModel() {
  const { source, target, source_name: from, target_name: to, head } = model();
  byId("source-name").textContent = from;
  byId("target-name").textContent = to;
  text.lang = source;
  byId("translation").lang = target;
  byId("idea").replaceChildren(...idea(model()));
  byId("layer").textContent = `${from} to ${to}, output layer ${head}`;
}

async function begin() {
  const before = readAddress();
  try {
    const [served, settings] = await Promise.all([get("models"), get("frontend/settings")]);
    models = served;
    most = Math.min(settings.charLimit, MOST_CHARACTERS);
    show(byId("key-field"), settings.keyRequired);
  } catch (error) {
    tell(error.message);
    return;
  }
  const names = models.map((each, place) => make("option", { value: place }, `${each.source_name} → ${each.target_name}`));
  byId("pair").replaceChildren(...names);
  show(byId("pair-field"), models.length > 1);
  const pair = models.findIndex((each) => `${each.source}-${each.target}` === before.pair);
  byId("pair").value = String(Math.max(0, pair));
  if (["greedy", "beam", "sample"].includes(before.search)) form.elements.search.value = before.search;
  byId("beam").value = before.beam;
  byId("temperature").value = before.temperature;
  seed = Math.max(0, Number.parseInt(before.seed, 10) || 0);
  text.value ||= before.q;
  showModel();
  showOptions();
  ask();
}

form.addEventListener("submit", (event) => event.preventDefault());
text.addEventListener("input", askSoon);
byId("key").addEventListener("change", ask);
byId("pair").addEventListener("change", () => {
  showModel();
  ask();
});
for (const radio of form.elements.search) {
  radio.addEventListener("change", () => {
    showOptions();
    ask();
  });
}
byId("beam").addEventListener("input", askSoon);
byId("temperature").addEventListener("input", () => {
  showOptions();
  askSoon();
});
byId("again").addEventListener("click", () => {
  seed += 1;
  ask();
});
byId("copy").addEventListener("click", async () => {
  await navigator.clipboard.writeText(byId("translation").textContent);
  byId("copy").textContent = "Copied";
  setTimeout(() => {
    byId("copy").textContent = "Copy";
  }, 1500);
});

begin();
