/*
 * The page's data block, and its words.
 *
 * Shoe.page()              what the data block says: key, live, language, glyphs, words, first …
 * Shoe.word(key, values)   the word in the page's language; "{name}" in it is taken from values;
 *                          the key itself where the language has no such word
 * Shoe.has(key)            whether the language has it
 * Shoe.glyph(side)         "player", "banker", "tie" as one sign: P B T or 閒 莊 和
 * Shoe.clock(rfc3339, seconds)  "14:05", or "14:05:09", by the clock of this computer
 * Shoe.number(n)           a number as people read it; "–" for null
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var page = null;
  var LETTERS = { player: "P", banker: "B", tie: "T" };

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
    return word.replace(/\{([a-z_]+)\}/g, function (whole, name) {
      return values && values[name] !== undefined && values[name] !== null ? values[name] : whole;
    });
  };

  Shoe.glyph = function (side) {
    var simplified = Shoe.page().language === "zh-hans";
    if (Shoe.page().glyphs !== "chinese") {
      return LETTERS[side];
    }
    return { player: simplified ? "闲" : "閒", banker: simplified ? "庄" : "莊", tie: "和" }[side];
  };

  function two(number) {
    return (number < 10 ? "0" : "") + number;
  }

  Shoe.clock = function (moment, seconds) {
    var date = new Date(moment);
    if (!moment || isNaN(date.getTime())) {
      return "–";
    }
    return two(date.getHours()) + ":" + two(date.getMinutes()) +
      (seconds ? ":" + two(date.getSeconds()) : "");
  };

  Shoe.number = function (number) {
    return number === null || number === undefined ? "–" : String(number);
  };
}());
