/*
 * Elements, without markup: names that come from a broker can never become any.
 *
 * Shoe.el(tag, attrs, children)   an HTML element
 * Shoe.svg(tag, attrs, children)  an SVG element
 *     attrs: {name: text}; `text` is its text, null or undefined leaves an attribute out.
 *     children: a node, a text, or a list of those; null is left out.
 * Shoe.sentenceElement(tag, name, said)  an HTML element of that class with a sentence, {text, lang}
 * Shoe.setSentence(node, said)            the same for an element that is there
 * Shoe.byId(id)                   the element of that id
 * Shoe.setText(node, text)           sets its text, if it is another one
 * Shoe.setAttribute(node, name, value)     sets an attribute, if it is another one; null removes it
 * Shoe.setClass(node, name, on)       adds or removes a class
 * Shoe.setChildren(node, children)       puts these children in place of those it has
 * Shoe.fillOnChange(node, key, make)      as `fill` with make(), unless it was last filled for the same key
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

  function dress(node, attrs, children) {
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
    return dress(document.createElement(tag), attrs, children);
  };

  Shoe.svg = function (tag, attrs, children) {
    return dress(document.createElementNS(SVG, tag), attrs, children);
  };

  Shoe.sentenceElement = function (tag, name, said) {
    return Shoe.el(tag, { "class": name, lang: said.lang, text: said.text });
  };

  Shoe.setSentence = function (node, said) {
    Shoe.setText(node, said.text);
    Shoe.setAttribute(node, "lang", said.lang || null);
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

  Shoe.fillOnChange = function (node, key, make) {
    if (node.shoeKey !== key) {
      Shoe.setChildren(node, make());
      node.shoeKey = key;
    }
  };
}());
