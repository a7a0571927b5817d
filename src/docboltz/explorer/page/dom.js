// Elements made of text only: nothing that comes from a document is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

/**
 * An element with attributes and children. A key that begins with "on" is a listener, a value of
 * null or undefined, or false but for aria, leaves an attribute out; strings become text nodes.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** As `element`, for drawings. */
export function drawing(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !key.startsWith("aria-"))) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true && !key.startsWith("aria-") ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child || child === 0 || child === ""));
  return node;
}

/** Text from outside, kept apart from what stands around it whatever direction it is written in. */
export function foreign(text, attributes = {}) {
  return element("bdi", attributes, String(text));
}

/** A link to an address of this page. */
export function link(href, attributes, ...children) {
  return element("a", { href, ...attributes }, ...children);
}

/** @returns {HTMLButtonElement} */
export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

/** A list of nodes of which there may be none, under a heading. */
export function section(title, ...children) {
  return element("section", {}, element("h3", {}, title), ...children);
}

/** Wait until nothing was asked for so many milliseconds. */
export function debounced(action, milliseconds) {
  let timer = 0;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}
