"use strict";
// What all scripts of a page make their elements with. Text goes in as text: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes (`on…` listeners too) and children. */
function make(tag, attributes, ...children) {
  const svg = ["svg", "path", "text", "title", "rect"].includes(tag);
  const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const number = (value) => value.toLocaleString("en-US");
const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
