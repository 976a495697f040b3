/*
 * As large as all tables fit.
 *
 * Shoe.fit(tiles, floor, count)   chooses letters and columns so that `count` tiles fill the floor
 *     without scrolling: with their cards (class `roomy`) where that leaves them legible, else
 *     without (`compact`), and never smaller than a person can read: then the floor scrolls.
 *     data-columns says how many columns. Gives true where the cards are shown.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  /* In letters: the width that a tile needs, and its height; and in pixels between them. */
  var WIDE = 15.2;
  var ROOMY = 11.6;
  var COMPACT = 6.15;
  var GAP = 9;
  var MOST = 12;

  function columns(width, size) {
    return Math.max(1, Math.min(MOST, Math.floor(width / (WIDE * size + GAP))));
  }

  function largest(width, height, count, tall, sizes) {
    var size;
    for (size = sizes[0]; size >= sizes[1]; size -= 0.5) {
      if (Math.ceil(count / columns(width, size)) * (tall * size + GAP) <= height) {
        return size;
      }
    }
    return null;
  }

  function show(tiles, width, size, roomy) {
    var across = columns(width, size);
    tiles.style.fontSize = size + "px";
    Shoe.set(tiles, "data-columns", across);
    Shoe.flag(tiles, "roomy", roomy);
    Shoe.flag(tiles, "compact", !roomy);
    return roomy;
  }

  Shoe.fit = function (tiles, floor, count) {
    var width = floor.clientWidth - 28;
    var height = floor.clientHeight - 32;
    var scrolls = window.innerWidth <= 900;
    var size;
    if (scrolls) {
      return show(tiles, width, width < 420 ? 15.5 : 17, count <= 4);
    }
    size = largest(width, height, count, ROOMY, [30, 16]);
    if (size !== null) {
      return show(tiles, width, size, true);
    }
    size = largest(width, height, count, COMPACT, [26, 12.5]);
    return show(tiles, width, size || 13.5, false);
  };
}());
