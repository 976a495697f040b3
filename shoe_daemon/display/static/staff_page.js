/*
 * What the pages of the pit, the history and the list of tables have in common.
 *
 * fillWords()            sets the words of the page: [data-word] the text, [data-label] the
 *                        aria-label, [data-href] an address in this language; and adds the
 *                        languages to #languages
 * pageUrl(path)          the path with the language and the glyphs of this page
 * addParameter(url, name, value)   the address with one more parameter
 * showPage()             shows the page, which is hidden (class `waiting`) until it is built
 * togglePanel(button, panel)   lets the button open and close the panel (aria-expanded); Esc
 *                        or a click elsewhere closes it
 * showPitBanners(pit)    #broker-banner, and #notify-banner: why people are not notified, and which
 *                        tables the database is behind
 * showLost(isLost, since)   #lost-banner: the display is lost; data-lost of the body
 */
import { byId, el, fillOnChange, setAttribute, setClass, setText } from "./dom.js";
import { formatClock, hasWord, page, word } from "./translations.js";

const MAX_FAULTS = 3;

export function pageUrl(path) {
  const kept = window.location.search.match(/(lang|glyphs)=[a-z-]+/g);
  return path + (kept ? `?${kept.join("&")}` : "");
}

export function addParameter(url, name, value) {
  return `${url}${url.includes("?") ? "&" : "?"}${name}=${encodeURIComponent(value)}`;
}

function urlInLanguage(code) {
  const kept = window.location.search.slice(1).split("&")
    .filter(part => part && !part.startsWith("lang="));
  return `${window.location.pathname}?${[`lang=${code}`, ...kept].join("&")}`;
}

function addLanguages(place) {
  (page.languages || []).forEach(language => {
    place.appendChild(el("a", {
      href: urlInLanguage(language[0]),
      lang: language[0],
      text: language[1],
      "aria-current": language[0] === page.language ? "true" : null
    }));
  });
}

export function fillWords() {
  document.querySelectorAll("[data-word]").forEach(node => {
    setText(node, word(node.getAttribute("data-word")));
  });
  document.querySelectorAll("[data-label]").forEach(node => {
    setAttribute(node, "aria-label", word(node.getAttribute("data-label")));
  });
  document.querySelectorAll("[data-href]").forEach(node => {
    setAttribute(node, "href", pageUrl(node.getAttribute("data-href")));
  });
  if (byId("languages")) {
    addLanguages(byId("languages"));
  }
}

export function showPage() {
  setClass(document.body, "waiting", false);
}

function notifierFaultText(fault) {
  const time = fault.since && formatClock(fault.since);
  if (fault.recipient === null) {
    return word(time ? "notify_off_since" : "notify_off", { notifier: fault.notifier, time });
  }
  return word("notify_fails", {
    recipient: fault.recipient,
    time: time || "–",
    attempt: fault.attempts,
    reason: hasWord(fault.detail_code) ? word(fault.detail_code, fault.detail_values)
      : fault.detail
  });
}

export function showLost(isLost, since) {
  setAttribute(document.body, "data-lost", isLost ? "true" : null);
  setClass(byId("lost-banner"), "hidden", !isLost);
  setText(byId("lost-since"), isLost ? word("since", { time: formatClock(since) }) : "");
}

export function showPitBanners({ broker, notifications, copies }) {
  setAttribute(document.body, "data-broker", String(broker.connected));
  setClass(byId("broker-banner"), "hidden", broker.connected);
  setText(byId("broker-since"),
    broker.since ? word("since", { time: formatClock(broker.since) }) : "");
  setText(byId("broker-detail"), broker.detail || "");
  showFaultTexts(byId("notify-banner"),
    notifications.map(notifierFaultText).concat(copies.map(lateCopyText)));
}

function lateCopyText({ table, events, since }) {
  return word("copy_late", { table, count: events, time: formatClock(since) });
}

function showFaultTexts(banner, texts) {
  const left = texts.length - MAX_FAULTS;
  const shown = texts.slice(0, MAX_FAULTS).concat(
    left > 0 ? word("sheet_left_out", { count: left }) : []);
  setClass(banner, "hidden", !texts.length);
  setAttribute(document.body, "data-notify", texts.length ? "fails" : null);
  fillOnChange(banner, JSON.stringify(shown), () => shown.map(text => el("p", { text })));
}

export function togglePanel(button, panel) {
  function setOpen(isOpen) {
    setClass(panel, "hidden", !isOpen);
    setAttribute(button, "aria-expanded", isOpen ? "true" : "false");
  }

  button.addEventListener("click", () => {
    setOpen(button.getAttribute("aria-expanded") !== "true");
  });
  document.addEventListener("click", event => {
    if (!panel.contains(event.target) && !button.contains(event.target)) {
      setOpen(false);
    }
  });
  document.addEventListener("keydown", event => {
    if (event.keyCode === 27 && button.getAttribute("aria-expanded") === "true") {
      setOpen(false);
      button.focus();
    }
  });
  setOpen(false);
}
