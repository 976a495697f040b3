/*
 * The data block of the page, and its translations.
 *
 * Shoe.page()              the data block: key, live, language, glyphs, words, first …
 * Shoe.word(key, values)   a word in the page's language, "{name}" replaced from values; the key
 *                          itself if the language lacks the word
 * Shoe.hasWord(key)        whether the language has the word
 * Shoe.glyph(side)         "player", "banker", "tie" as one character, Latin or Chinese
 * Shoe.sentence(data, english)  a sentence of the table: {text, lang}. data has detail_code and
 *                          detail_values. The English sentence is used if the page has no
 *                          translation, or if a value is missing; lang is then "en" on pages in
 *                          another language, else null
 * Shoe.phrase(english)     the same for a phrase without a code: {text, lang}
 * Shoe.formatClock(time)   "14:05:09" in this computer's time zone, with the date if that is not
 *                          today; time: RFC 3339 or a Date; "–" for null
 * Shoe.formatNumber(n)     the number as text; "–" for null
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  /* Values that are names, and the prefix of the words for them. */
  var WORDS_BY_VALUE = { action: "action_", kind: "irregularity_", order: "change_" };
  var page = null;

  Shoe.page = function () {
    if (page === null) {
      page = JSON.parse(document.getElementById("page").textContent);
    }
    return page;
  };

  Shoe.hasWord = function (key) {
    return Object.prototype.hasOwnProperty.call(Shoe.page().words, key);
  };

  Shoe.word = function (key, values) {
    var word = Shoe.hasWord(key) ? Shoe.page().words[key] : key;
    return word.replace(/\{(\w+)\}/g, function (whole, name) {
      return values && values[name] !== undefined && values[name] !== null ? values[name] : whole;
    });
  };

  /* Sentences of the table; docs/mqtt.md describes their brackets and values. */

  function ownProperty(object, name) {
    return object && Object.prototype.hasOwnProperty.call(object, name) ? object[name] : null;
  }

  function template(code) {
    return code ? ownProperty(Shoe.page().sentences, code) : null;
  }

  function formatValue(name, values) {
    var value = ownProperty(values, name);
    if (value === null) {
      return null;
    }
    if (name === "because") {
      return fillTemplate(template(value), values);
    }
    if (name === "card") {
      return Shoe.cardName(value);
    }
    if (name === "at") {
      return Shoe.formatClock(value);
    }
    if (name === "seats") {
      return String(value).replace(/, /g, Shoe.word("list_comma"));
    }
    if (WORDS_BY_VALUE[name] && Shoe.hasWord(WORDS_BY_VALUE[name] + value)) {
      return Shoe.word(WORDS_BY_VALUE[name] + value);
    }
    if (name === "slot" || name === "laid") {
      return Shoe.word("slot_" + value);
    }
    return name === "hand" || /_(declared|cards)$/.test(name) ? Shoe.word(String(value)) : value;
  }

  function fillTemplate(text, values) {
    var complete = true;
    if (text === null) {
      return null;
    }
    function replaceNames(part) {
      return part.replace(/\{(\w+)\}/g, function (all, name) {
        var value = formatValue(name, values);
        complete = complete && value !== null;
        return value;
      });
    }
    text = replaceNames(text.replace(/\[([^\]]*)\]/g, function (all, part) {
      var names = part.match(/\w+(?=\})/g) || [];
      return names.every(function (name) {
        return ownProperty(values, name) !== null;
      }) ? part : "";
    }));
    return complete ? text : null;
  }

  function textOrEnglish(text, english) {
    return text !== null ? { text: text, lang: null }
      : { text: english, lang: Shoe.page().language === "en" || !english ? null : "en" };
  }

  Shoe.sentence = function (data, english) {
    return textOrEnglish(
      fillTemplate(template(data.detail_code), data.detail_values), english || "");
  };

  Shoe.phrase = function (english) {
    return textOrEnglish(template(english), english || "");
  };

  Shoe.glyph = function (side) {
    return Shoe.word("glyph_" + Shoe.page().glyphs + "_" + side);
  };

  function twoDigits(number) {
    return (number < 10 ? "0" : "") + number;
  }

  function formatDay(date) {
    return date.toDateString() === new Date().toDateString() ? "" : Shoe.word("date", {
      year: date.getFullYear(),
      month: twoDigits(date.getMonth() + 1),
      day: twoDigits(date.getDate())
    }) + " ";
  }

  Shoe.formatClock = function (time) {
    var date = new Date(time);
    if (!time || isNaN(date.getTime())) {
      return "–";
    }
    return formatDay(date) + Shoe.word("clock", {
      hour: twoDigits(date.getHours()),
      minute: twoDigits(date.getMinutes()),
      second: twoDigits(date.getSeconds())
    });
  };

  Shoe.formatNumber = function (number) {
    return number === null || number === undefined ? "–" : String(number);
  };
}());
