/*
 * The data block of the page, and its translations.
 *
 * page                the data block: key, live, language, glyphs, words, first …
 * word(key, values)   a word in the page's language, "{name}" replaced from values; the key
 *                     itself if the language lacks the word
 * hasWord(key)        whether the language has the word
 * glyph(side)         "player", "banker", "tie" as one character, Latin or Chinese
 * sentence(data, english)  a sentence of the table: {text, lang}. data has detail_code and
 *                     detail_values. The English sentence is used if the page has no
 *                     translation, or if a value is missing; lang is then "en" on pages in
 *                     another language, else null
 * phrase(english)     the same for a phrase without a code: {text, lang}
 * formatClock(time)   "14:05:09" in this computer's time zone, with the date if that is not
 *                     today; time: RFC 3339 or a Date; "–" for null
 * cardName(card)      "A♠"; "?" for null and for an unread card
 * formatNumber(n)     the number as text; "–" for null
 */
/* Values that are names, and the prefix of the words for them. */
const SUIT_SIGNS = { S: "♠", H: "♥", D: "♦", C: "♣" };
const WORDS_BY_VALUE = { action: "action_", kind: "irregularity_", order: "change_" };
export const page = JSON.parse(document.getElementById("page").textContent);

export function hasWord(key) {
  return Object.prototype.hasOwnProperty.call(page.words, key);
}

export function word(key, values) {
  const word = hasWord(key) ? page.words[key] : key;
  return word.replace(/\{(\w+)\}/g, (whole, name) =>
    values && values[name] !== undefined && values[name] !== null ? values[name] : whole);
}

/* Sentences of the table; docs/mqtt.md describes their brackets and values. */

function ownProperty(object, name) {
  return object && Object.prototype.hasOwnProperty.call(object, name) ? object[name] : null;
}

function template(code) {
  return code ? ownProperty(page.sentences, code) : null;
}

function formatValue(name, values) {
  const value = ownProperty(values, name);
  if (value === null) {
    return null;
  }
  if (name === "because") {
    return fillTemplate(template(value), values);
  }
  if (name === "card") {
    return cardName(value);
  }
  if (name === "at") {
    return formatClock(value);
  }
  if (name === "seats") {
    return String(value).replace(/, /g, word("list_comma"));
  }
  if (WORDS_BY_VALUE[name] && hasWord(WORDS_BY_VALUE[name] + value)) {
    return word(WORDS_BY_VALUE[name] + value);
  }
  if (name === "slot" || name === "laid") {
    return word(`slot_${value}`);
  }
  return name === "hand" || /_(declared|cards)$/.test(name) ? word(String(value)) : value;
}

function fillTemplate(text, values) {
  let complete = true;
  if (text === null) {
    return null;
  }
  function replaceNames(part) {
    return part.replace(/\{(\w+)\}/g, (all, name) => {
      const value = formatValue(name, values);
      complete = complete && value !== null;
      return value;
    });
  }
  text = replaceNames(text.replace(/\[([^\]]*)\]/g, (all, part) => {
    const names = part.match(/\w+(?=\})/g) || [];
    return names.every(name => ownProperty(values, name) !== null) ? part : "";
  }));
  return complete ? text : null;
}

function textOrEnglish(text, english) {
  return text !== null ? { text, lang: null }
    : { text: english, lang: page.language === "en" || !english ? null : "en" };
}

export function sentence(data, english) {
  return textOrEnglish(
    fillTemplate(template(data.detail_code), data.detail_values), english || "");
}

export function phrase(english) {
  return textOrEnglish(template(english), english || "");
}

export function glyph(side) {
  return word(`glyph_${page.glyphs}_${side}`);
}

function twoDigits(number) {
  return String(number).padStart(2, "0");
}

function formatDay(date) {
  return date.toDateString() === new Date().toDateString() ? "" : word("date", {
    year: date.getFullYear(),
    month: twoDigits(date.getMonth() + 1),
    day: twoDigits(date.getDate())
  }) + " ";
}

export function formatClock(time) {
  const date = new Date(time);
  if (!time || isNaN(date.getTime())) {
    return "–";
  }
  return formatDay(date) + word("clock", {
    hour: twoDigits(date.getHours()),
    minute: twoDigits(date.getMinutes()),
    second: twoDigits(date.getSeconds())
  });
}

export function cardName(card) {
  const known = /^(10|[2-9AJQK])([SHDC])$/.exec(card || "");
  return known ? known[1] + SUIT_SIGNS[known[2]] : "?";
}

export function formatNumber(number) {
  return number === null || number === undefined ? "–" : String(number);
}
