/*
 * Elements, created without markup: text from a broker can never become markup.
 *
 * Shoe.el(tag, attrs, children)   creates an HTML element
 * Shoe.svg(tag, attrs, children)  creates an SVG element
 *     attrs: {name: value}; `text` is the text; null and undefined leave an attribute out
 *     children: a node, a text, or a list of those; null is skipped
 * Shoe.sentenceElement(tag, name, sentence)  creates an HTML element of that class with a
 *                                 sentence {text, lang}
 * Shoe.setSentence(node, sentence)     sets text and language of an element
 * Shoe.byId(id)                   returns the element of that id
 * Shoe.setText(node, text)        sets the text if it differs
 * Shoe.setAttribute(node, name, value)  sets an attribute if it differs; null removes it
 * Shoe.setClass(node, name, on)   adds or removes a class
 * Shoe.setChildren(node, children)      replaces the children
 * Shoe.fillOnChange(node, key, create)  replaces the children by create(), unless the node was
 *                                 filled for the same key last time
 *
 * For browsers of ten years ago: ES5, no innerHTML, no style attributes.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var SVG = "http://www.w3.org/2000/svg";

  function add(node, children) {
    var i;
    if (children === null || children === undefined) {
      return;
    }
    if (Array.isArray(children)) {
      for (i = 0; i < children.length; i += 1) {
        add(node, children[i]);
      }
      return;
    }
    node.appendChild(children.nodeType ? children : document.createTextNode(String(children)));
  }

  function applyAttributes(node, attrs, children) {
    var name;
    for (name in attrs) {
      if (name === "text") {
        add(node, attrs[name]);
      } else if (attrs[name] !== null && attrs[name] !== undefined) {
        node.setAttribute(name, attrs[name]);
      }
    }
    add(node, children);
    return node;
  }

  Shoe.el = function (tag, attrs, children) {
    return applyAttributes(document.createElement(tag), attrs, children);
  };

  Shoe.svg = function (tag, attrs, children) {
    return applyAttributes(document.createElementNS(SVG, tag), attrs, children);
  };

  Shoe.sentenceElement = function (tag, name, sentence) {
    return Shoe.el(tag, { "class": name, lang: sentence.lang, text: sentence.text });
  };

  Shoe.setSentence = function (node, sentence) {
    Shoe.setText(node, sentence.text);
    Shoe.setAttribute(node, "lang", sentence.lang || null);
  };

  Shoe.byId = function (id) {
    return document.getElementById(id);
  };

  Shoe.setText = function (node, text) {
    var value = text === null || text === undefined ? "" : String(text);
    if (node.textContent !== value) {
      node.textContent = value;
    }
  };

  Shoe.setAttribute = function (node, name, value) {
    if (value === null || value === undefined) {
      if (node.hasAttribute(name)) {
        node.removeAttribute(name);
      }
    } else if (node.getAttribute(name) !== String(value)) {
      node.setAttribute(name, value);
    }
  };

  Shoe.setClass = function (node, name, on) {
    if (on) {
      node.classList.add(name);
    } else {
      node.classList.remove(name);
    }
  };

  Shoe.setChildren = function (node, children) {
    while (node.firstChild) {
      node.removeChild(node.firstChild);
    }
    add(node, children);
  };

  Shoe.fillOnChange = function (node, key, create) {
    if (node.shoeKey !== key) {
      Shoe.setChildren(node, create());
      node.shoeKey = key;
    }
  };
}());
