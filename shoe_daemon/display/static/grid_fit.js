/*
 * As large as all tables fit.
 *
 * Shoe.fitGrid(tiles, floor, count)   chooses letters and columns so that `count` tiles fill the floor
 *     without scrolling: with their cards (class `roomy`) where that leaves them legible, else
 *     without (`compact`), and never smaller than a person can read: then the floor scrolls.
 *     data-columns says how many columns. Gives true where the cards are shown.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  /* In letters: the width and the height that a tile needs; and in pixels between them. */
  var ROOMY = { wide: 17.6, tall: 11.2, sizes: [44, 15] };
  var COMPACT = { wide: 15.2, tall: 6.15, sizes: [26, 12.5] };
  var GAP = 9;
  var MOST = 12;
  var SCROLLS = 13.5;

  function columns(form, width, size, count) {
    return Math.max(1, Math.min(MOST, count, Math.floor(width / (form.wide * size + GAP))));
  }

  function largest(form, width, height, count) {
    var size;
    var rows;
    for (size = form.sizes[0]; size >= form.sizes[1]; size -= 0.5) {
      rows = Math.ceil(count / columns(form, width, size, count));
      if (rows * (form.tall * size + GAP) <= height && form.wide * size <= width) {
        return size;
      }
    }
    return null;
  }

  function show(tiles, form, across, size) {
    tiles.style.fontSize = size + "px";
    Shoe.setAttribute(tiles, "data-columns", across);
    Shoe.setClass(tiles, "roomy", form === ROOMY);
    Shoe.setClass(tiles, "compact", form === COMPACT);
    return form === ROOMY;
  }

  Shoe.fitGrid = function (tiles, floor, count) {
    var width = floor.clientWidth - 28;
    var height = floor.clientHeight - 32;
    var form = ROOMY;
    var size;
    if (window.innerWidth <= 900) {
      form = count <= 4 ? ROOMY : COMPACT;
      return show(tiles, form, width < 520 ? 1 : 2, width < 520 && count <= 4 ? 18 : 16);
    }
    size = largest(form, width, height, count);
    if (size === null) {
      form = COMPACT;
      size = largest(form, width, height, count) || SCROLLS;
    }
    return show(tiles, form, columns(form, width, size, count), size);
  };
}());
