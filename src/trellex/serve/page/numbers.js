// Numbers as people read them.

export const count = (value) => value.toLocaleString("en");

export function percent(probability) {
  const share = 100 * probability;
  if (share > 0 && share < 0.01) return "< 0.01 %";
  if (share >= 99.995 && share < 100) return "> 99.99 %";
  const digits = share >= 99.95 || share < 0.1 ? 2 : share >= 10 && share < 90 ? 0 : 1;
  return `${share.toFixed(share === 100 || share === 0 ? 0 : digits)} %`;
}

export const milliseconds = (value) => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`;

export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;
