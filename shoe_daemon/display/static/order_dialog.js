/*
 * The dialog in which an order is prepared, and what its steps are made of.
 *
 * openDialog(verb, onClose)     shows it; onClose() is called by its button, and by Esc
 * closeDialog()
 * isOpen()
 * setTitle(title)
 * showStep(step, children)      shows a step; the focus is on its first field or button
 * bigButton(text, name, action, id)
 * field(title, attributes, name)   a labelled input
 * pinField()
 * onEnter(node, action)
 *
 * For tests:
 *     #sheet               data-verb; data-step: log-in, choose, preview, asked (on its way), done,
 *                          refused, lost
 *     #sheet-do            carries the order out; #sheet-close
 *     #sheet-told          what happened, in a sentence
 *     #sheet-pin           the PIN
 */
import { byId, el, setAttribute, setChildren, setClass, setText } from "./dom.js";
import { word } from "./translations.js";

let opener = null;
let close = null;

export function bigButton(text, name, action, id) {
  const made = el("button", { type: "button", class: `big ${name}`, id, text });
  made.addEventListener("click", () => action());
  return made;
}

export function field(title, attributes, name = "pin") {
  return el("label", { class: name }, [
    el("span", { text: title }), el("input", { autocomplete: "off", ...attributes })
  ]);
}

export function pinField() {
  return field(word("sheet_pin"), {
    id: "sheet-pin", type: "password", inputmode: "numeric", maxlength: 64, autocapitalize: "off",
    spellcheck: "false"
  });
}

export function onEnter(node, action) {
  node.addEventListener("keydown", event => {
    if (event.keyCode === 13) {
      event.preventDefault();
      action();
    }
  });
}

export function setTitle(title) {
  setText(byId("sheet-title"), title);
}

export function showStep(step, children) {
  const body = byId("sheet-body");
  setAttribute(byId("sheet"), "data-step", step);
  setChildren(body, children);
  body.scrollTop = 0;
  // The focus is on a button, which does not tell what happened.
  body.querySelectorAll(".told").forEach(node =>
    setAttribute(node, "role", step === "asked" ? "status" : "alert"));
  (body.querySelector("input, button") || byId("sheet-close")).focus();
}

function keepFocus(event, box) {
  const all = box.querySelectorAll("button, input");
  const first = all[0];
  const last = all[all.length - 1];
  if (document.activeElement === (event.shiftKey ? first : last)) {
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  }
}

function build() {
  const button = bigButton("×", "close", () => close(), "sheet-close");
  setAttribute(button, "aria-label", word("sheet_close"));
  const box = el("div", {
    id: "sheet", class: "sheet hidden", role: "dialog", "aria-modal": "true",
    "aria-labelledby": "sheet-title"
  }, el("div", { class: "sheet-box" }, [
    el("div", { class: "sheet-head" }, [el("h2", { id: "sheet-title" }), button]),
    el("div", { id: "sheet-body" })
  ]));
  document.body.appendChild(box);
  document.addEventListener("keydown", event => {
    if (!isOpen()) {
      return;
    }
    if (event.keyCode === 27) {
      close();
    } else if (event.keyCode === 9) {
      keepFocus(event, box);
    } else if (event.keyCode === 13 && event.repeat) {
      // A key that is held down since before would confirm what nobody has read.
      event.preventDefault();
      event.stopPropagation();
    }
  }, true);
}

export function isOpen() {
  return close !== null;
}

export function openDialog(verb, onClose) {
  if (!byId("sheet")) {
    build();
  }
  opener = document.activeElement;
  close = onClose;
  setAttribute(byId("sheet"), "data-verb", verb);
  setClass(byId("sheet"), "hidden", false);
  setClass(document.body, "behind", true);
}

export function closeDialog() {
  close = null;
  setClass(byId("sheet"), "hidden", true);
  setClass(document.body, "behind", false);
  // A field that lost its page would keep the PIN.
  setChildren(byId("sheet-body"), null);
  if (opener && document.body.contains(opener)) {
    opener.focus();
  }
}
