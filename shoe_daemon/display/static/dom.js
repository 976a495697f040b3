/*
 * Elements, created without markup: text from a broker can never become markup. The pages' policy
 * allows no innerHTML and no style attributes.
 *
 * el(tag, attrs, children)   creates an HTML element
 * svg(tag, attrs, children)  creates an SVG element
 *     attrs: {name: value}; `text` is the text; null and undefined leave an attribute out
 *     children: a node, a text, or a list of those; null is skipped
 * sentenceElement(tag, name, sentence)  creates an HTML element of that class with a
 *                            sentence {text, lang}
 * setSentence(node, sentence)     sets text and language of an element
 * byId(id)                   returns the element of that id
 * setText(node, text)        sets the text if it differs
 * setAttribute(node, name, value)  sets an attribute if it differs; null removes it
 * setClass(node, name, on)   adds or removes a class
 * setChildren(node, children)      replaces the children
 * fillOnChange(node, key, create)  replaces the children by create(), unless the node was
 *                            filled for the same key last time
 */
const SVG = "http://www.w3.org/2000/svg";

function add(node, children) {
  if (children === null || children === undefined) {
    return;
  }
  if (Array.isArray(children)) {
    children.forEach(child => add(node, child));
    return;
  }
  node.appendChild(children.nodeType ? children : document.createTextNode(String(children)));
}

function applyAttributes(node, attrs, children) {
  for (const name in attrs) {
    if (name === "text") {
      add(node, attrs[name]);
    } else if (attrs[name] !== null && attrs[name] !== undefined) {
      node.setAttribute(name, attrs[name]);
    }
  }
  add(node, children);
  return node;
}

export function el(tag, attrs, children) {
  return applyAttributes(document.createElement(tag), attrs, children);
}

export function svg(tag, attrs, children) {
  return applyAttributes(document.createElementNS(SVG, tag), attrs, children);
}

export function sentenceElement(tag, name, sentence) {
  return el(tag, { class: name, lang: sentence.lang, text: sentence.text });
}

export function setSentence(node, sentence) {
  setText(node, sentence.text);
  setAttribute(node, "lang", sentence.lang || null);
}

export function byId(id) {
  return document.getElementById(id);
}

export function setText(node, text) {
  const value = text === null || text === undefined ? "" : String(text);
  if (node.textContent !== value) {
    node.textContent = value;
  }
}

export function setAttribute(node, name, value) {
  if (value === null || value === undefined) {
    if (node.hasAttribute(name)) {
      node.removeAttribute(name);
    }
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

export function setClass(node, name, on) {
  node.classList.toggle(name, Boolean(on));
}

export function setChildren(node, children) {
  node.textContent = "";
  add(node, children);
}

export function fillOnChange(node, key, create) {
  if (node.shoeKey !== key) {
    setChildren(node, create());
    node.shoeKey = key;
  }
}
