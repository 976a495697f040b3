/*
 * Size and columns of the tiles of the pit.
 *
 * Shoe.fitGrid(tiles, floor, count)   chooses the largest font size at which `count` tiles fill the
 *     floor without scrolling: with cards (class `roomy`) while they are legible, else without
 *     (`compact`). Below the smallest legible size the floor scrolls. data-columns is the number
 *     of columns. Returns whether cards are shown.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  /* Width and height of a tile in em, and its largest and smallest font size in pixels. */
  var ROOMY = { wide: 17.6, tall: 11.2, sizes: [44, 15] };
  var COMPACT = { wide: 15.2, tall: 6.15, sizes: [26, 12.5] };
  var GAP_PX = 9;
  var MAX_COLUMNS = 12;
  var SMALLEST_SIZE = 13.5;

  function columnsFor(form, width, size, count) {
    var fitting = Math.floor(width / (form.wide * size + GAP_PX));
    return Math.max(1, Math.min(MAX_COLUMNS, count, fitting));
  }

  function largestSize(form, width, height, count) {
    var size;
    var rows;
    for (size = form.sizes[0]; size >= form.sizes[1]; size -= 0.5) {
      rows = Math.ceil(count / columnsFor(form, width, size, count));
      if (rows * (form.tall * size + GAP_PX) <= height && form.wide * size <= width) {
        return size;
      }
    }
    return null;
  }

  function apply(tiles, form, across, size) {
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
      return apply(tiles, form, width < 520 ? 1 : 2, width < 520 && count <= 4 ? 18 : 16);
    }
    size = largestSize(form, width, height, count);
    if (size === null) {
      form = COMPACT;
      size = largestSize(form, width, height, count) || SMALLEST_SIZE;
    }
    return apply(tiles, form, columnsFor(form, width, size, count), size);
  };
}());
