// Elements: made with attributes, properties of style and children, all as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, { style = {}, on = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, value] of Object.entries(style)) element.style.setProperty(name, value);
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

export const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

export const byId = (id) => document.getElementById(id);

export const show = (element, isShown) => {
  element.hidden = !isShown;
};
