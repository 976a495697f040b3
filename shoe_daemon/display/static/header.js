/*
 * Header, counters, asks and footer of the board.
 *
 * build()               creates the parts that never change; once
 * update(state)         name, shoe and round, limits, tags; data attributes of the body
 * updateCounts(state)   the counts of the shoe
 * textSize(text)               size class of a text: 1 for the shortest to 5
 */
import { drawCard } from "./card_drawing.js";
import { byId, el, fillOnChange, setAttribute, setChildren, setText } from "./dom.js";
import { drawDisc } from "./road_drawing.js";
import { glyph, hasWord, page, word } from "./translations.js";

const HIDE_POINTER_AFTER_MS = 4000;
const COUNTS = ["player", "banker", "tie", "rounds", "player_pair", "banker_pair", "natural"];
const SIDES = ["player", "banker"];
const MAIN_COUNTS = { player: true, banker: true, tie: true };

/* ---- parts that never change ---- */

function pageUrl({ lang, glyphs, path }) {
  const language = encodeURIComponent(lang || page.language);
  const chosen = glyphs || (lang ? null : page.glyphs);
  return `${path || window.location.pathname}?lang=${language}${chosen ? `&glyphs=${chosen}` : ""}`;
}

function createLink(text, href, current, language) {
  return el("a", { href, text, lang: language, "aria-current": current ? "true" : null });
}

function buildFooter() {
  const path = window.location.pathname.replace(/\/$/, "");
  const other = page.glyphs === "chinese" ? "letters" : "chinese";
  setChildren(byId("foot"), [
    el("span", { class: "links" }, [
      createLink(word("history"), pageUrl({ path: `${path}/history`, glyphs: page.glyphs })),
      createLink(word(`glyphs_${other}`), pageUrl({ glyphs: other }))
    ]),
    el("nav", { "aria-label": word("language") }, page.languages.map(known => {
      const code = known[0];
      return createLink(known[1], pageUrl({ lang: code }), code === page.language, code);
    }))
  ]);
}

function counter(kind) {
  return el("li", { class: MAIN_COUNTS[kind] ? "main" : null }, [
    MAIN_COUNTS[kind] ? drawDisc(kind) : null,
    kind === "player_pair" || kind === "banker_pair"
      ? el("i", { class: `dot ${kind}`, "aria-hidden": "true" }) : null,
    el("span", {
      class: MAIN_COUNTS[kind] ? "unseen" : "label", text: `${word("count_" + kind)} `
    }),
    el("b", { "data-count": kind })
  ]);
}

function buildCounts() {
  setChildren(byId("counts"), [COUNTS.slice(0, 4), COUNTS.slice(4)].map(row =>
    el("ul", {}, row.map(counter))));
}

function buildAsks() {
  setChildren(byId("asks"), SIDES.map(side => el("div", { class: `ask-box ${side}` }, [
    el("span", { class: "label", text: word(`ask_${side}`) }),
    drawDisc(side),
    el("span", { "data-ask-of": side })
  ])));
}

function buildEmblem() {
  const node = document.querySelector("#unknown .emblem");
  setChildren(node, [drawCard(null), drawCard(null)]);
}

/* The time of day, in the form of the page's language. */
function runClock() {
  const form = new Intl.DateTimeFormat(document.documentElement.lang,
    { hour: "2-digit", minute: "2-digit", hour12: false });
  function show() {
    const now = new Date();
    setText(byId("clock"), form.format(now));
    window.setTimeout(show, 60100 - now.getTime() % 60000);
  }
  show();
}

/* The pointer is hidden while nobody moves it. */
function hidePointer() {
  let timer = null;
  function hide() {
    document.body.classList.add("idle");
  }
  document.addEventListener("mousemove", () => {
    document.body.classList.remove("idle");
    window.clearTimeout(timer);
    timer = window.setTimeout(hide, HIDE_POINTER_AFTER_MS);
  });
  hide();
}

export function build() {
  buildFooter();
  buildCounts();
  buildAsks();
  buildEmblem();
  hidePointer();
  runClock();
  SIDES.forEach(side => {
    setText(byId(side).querySelector(".ghost"), glyph(side));
  });
}

/* ---- the header ---- */

/* A Chinese character counts as two letters. */
export function textSize(text) {
  const width = text.replace(/[^\u0000-\u2e80]/g, "  ").length;
  return width <= 5 ? 1 : width <= 8 ? 2 : width <= 13 ? 3 : width <= 22 ? 4 : 5;
}

function limitOrder(limit) {
  return (COUNTS.indexOf(limit) + COUNTS.length + 1) % (COUNTS.length + 1);
}

function createLimits(state) {
  const keys = Object.keys(state.limits).sort((one, two) => limitOrder(one) - limitOrder(two));
  return keys.map(key => el("div", { class: "limit" }, [
    el("dt", { text: hasWord(`wager_${key}`) ? word(`wager_${key}`) : key }),
    el("dd", { text: state.limits[key] })
  ]));
}

function shoeAndRound(state) {
  const shoe = state.shoe;
  if (!shoe) {
    return "";
  }
  return word("shoe_number", { number: shoe.number }) +
    (state.round ? ` · ${word("round_number", { number: state.round.number })}` : "");
}

function createTags(state) {
  const list = state.simulated ? [["simulated", word("simulated")]] : [];
  if (state.shoe && state.shoe.last_round) {
    list.push(["last_round", word("last_round")]);
  } else if (state.shoe && state.shoe.cut_card) {
    list.push(["cut_card", word("cut_card")]);
  }
  if (state.curator !== null && state.curator !== undefined) {
    list.push(["curator", word("curator_seat", { seat: state.curator })]);
  }
  return list.map(tag => el("li", { "data-tag": tag[0], text: tag[1] }));
}

export function update(state) {
  const name = state.name || state.table;
  setText(byId("name"), name);
  setAttribute(byId("name"), "data-size", textSize(name));
  setText(byId("shoe"), shoeAndRound(state));
  fillOnChange(byId("limits"), JSON.stringify(state.limits), () => createLimits(state));
  fillOnChange(byId("tags"), JSON.stringify([state.shoe, state.curator, state.simulated]), () =>
    createTags(state));
  if (document.title !== name) {
    document.title = name;
  }
  setAttribute(document.body, "data-seq", state.seq);
  setAttribute(document.body, "data-shoe", state.shoe ? state.shoe.number : null);
  setAttribute(document.body, "data-round", state.round ? state.round.number : null);
}

/* ---- the counts ---- */

export function updateCounts(state) {
  COUNTS.forEach(kind => {
    const node = document.querySelector(`[data-count=${kind}]`);
    setText(node, state.counts ? state.counts[kind] : "–");
  });
}
