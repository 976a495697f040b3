/*
 * The page's data block, and its words.
 *
 * Shoe.page()              what the data block says: key, live, language, glyphs, words, first …
 * Shoe.word(key, values)   the word in the page's language; "{name}" in it is taken from values;
 *                          the key itself where the language has no such word
 * Shoe.hasWord(key)            whether the language has it
 * Shoe.glyph(side)         "player", "banker", "tie" as one character, Latin or Chinese
 * Shoe.sentence(data, english)  a sentence of the table in the page's language: {text, lang}. data
 *                          has its detail_code and detail_values; where the page has no such
 *                          sentence, or a value is missing, it is the English one; lang is "en"
 *                          where a page in another language shows that, else null
 * Shoe.phrase(english)     the same for a phrase that has no code: {text, lang}
 * Shoe.formatClock(moment)       "14:05:09" in this computer's zone; with the date where that is not
 *                          today's; moment: RFC 3339 or a Date; "–" for none
 * Shoe.formatNumber(n)           a number as people read it; "–" for null
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

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

  /* Sentences of the table. Their brackets and values: see docs/mqtt.md. */

  function own(object, name) {
    return object && Object.prototype.hasOwnProperty.call(object, name) ? object[name] : null;
  }

  function template(code) {
    return code ? own(Shoe.page().sentences, code) : null;
  }

  function readable(name, values) {
    var value = own(values, name);
    if (value === null) {
      return null;
    }
    if (name === "because") {
      return filled(template(value), values);
    }
    if (name === "card") {
      return Shoe.cardName(value);
    }
    if (name === "slot" || name === "laid") {
      return Shoe.word("slot_" + value);
    }
    return name === "hand" || /_(declared|cards)$/.test(name) ? Shoe.word(String(value)) : value;
  }

  function filled(text, values) {
    var whole = true;
    if (text === null) {
      return null;
    }
    function put(part) {
      return part.replace(/\{(\w+)\}/g, function (all, name) {
        var value = readable(name, values);
        whole = whole && value !== null;
        return value;
      });
    }
    text = put(text.replace(/\[([^\]]*)\]/g, function (all, part) {
      var names = part.match(/\w+(?=\})/g) || [];
      return names.every(function (name) { return own(values, name) !== null; }) ? part : "";
    }));
    return whole ? text : null;
  }

  function said(text, english) {
    return text !== null ? { text: text, lang: null }
      : { text: english, lang: Shoe.page().language === "en" || !english ? null : "en" };
  }

  Shoe.sentence = function (data, english) {
    return said(filled(template(data.detail_code), data.detail_values), english || "");
  };

  Shoe.phrase = function (english) {
    return said(template(english), english || "");
  };

  Shoe.glyph = function (side) {
    return Shoe.word("glyph_" + Shoe.page().glyphs + "_" + side);
  };

  function two(number) {
    return (number < 10 ? "0" : "") + number;
  }

  function day(date) {
    return date.toDateString() === new Date().toDateString() ? "" : Shoe.word("date", {
      year: date.getFullYear(), month: two(date.getMonth() + 1), day: two(date.getDate())
    }) + " ";
  }

  Shoe.formatClock = function (moment) {
    var date = new Date(moment);
    if (!moment || isNaN(date.getTime())) {
      return "–";
    }
    return day(date) + Shoe.word("clock", {
      hour: two(date.getHours()), minute: two(date.getMinutes()), second: two(date.getSeconds())
    });
  };

  Shoe.formatNumber = function (number) {
    return number === null || number === undefined ? "–" : String(number);
  };
}());
