// The address of the page holds what is asked, so that it can be kept and shared.

const DEFAULTS = { q: "", pair: "", search: "greedy", beam: "5", temperature: "1", seed: "0" };

export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(Object.entries(DEFAULTS).map(([name, value]) => [name, given.get(name) ?? value]));
}

export function writeAddress(asked) {
  const kept = Object.entries(asked).filter(([name, value]) => String(value) !== DEFAULTS[name]);
  const hash = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}
