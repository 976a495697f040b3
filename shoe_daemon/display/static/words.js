/*
 * The page's data block, and its words.
 *
 * Shoe.page()              what the data block says: key, live, language, glyphs, words, first …
 * Shoe.word(key, values)   the word in the page's language; "{name}" in it is taken from values;
 *                          the key itself where the language has no such word
 * Shoe.has(key)            whether the language has it
 * Shoe.glyph(side)         "player", "banker", "tie" as one sign: P B T or 閒 莊 和
 * Shoe.clock(moment)       "14:05:09" in this computer's zone; with the date where that is not
 *                          today's; moment: RFC 3339 or a Date; "–" for none
 * Shoe.number(n)           a number as people read it; "–" for null
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

  Shoe.has = function (key) {
    return Object.prototype.hasOwnProperty.call(Shoe.page().words, key);
  };

  Shoe.word = function (key, values) {
    var word = Shoe.has(key) ? Shoe.page().words[key] : key;
    return word.replace(/\{(\w+)\}/g, function (whole, name) {
      return values && values[name] !== undefined && values[name] !== null ? values[name] : whole;
    });
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

  Shoe.clock = function (moment) {
    var date = new Date(moment);
    if (!moment || isNaN(date.getTime())) {
      return "–";
    }
    return day(date) + Shoe.word("clock", {
      hour: two(date.getHours()), minute: two(date.getMinutes()), second: two(date.getSeconds())
    });
  };

  Shoe.number = function (number) {
    return number === null || number === undefined ? "–" : String(number);
  };
}());
