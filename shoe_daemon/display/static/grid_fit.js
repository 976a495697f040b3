/*
 * Size and columns of the tiles of the pit.
 *
 * fitGrid(tiles, floor, count)   chooses the largest font size at which `count` tiles fill the
 *     floor without scrolling: with cards (class `roomy`) while they are legible, else without
 *     (`compact`). Below the smallest legible size the floor scrolls. data-columns is the number
 *     of columns. Returns whether cards are shown.
 */
import { setAttribute, setClass } from "./dom.js";

/* Width and height of a tile in em, and its largest and smallest font size in pixels. */
const ROOMY = { wide: 17.6, tall: 12.4, sizes: [96, 15] };
const COMPACT = { wide: 15.2, tall: 7.35, sizes: [26, 12.5] };
const GAP_PX = 9;
const MAX_COLUMNS = 12;
const SMALLEST_SIZE = 13.5;

function columnsFor(form, width, size, count) {
  const fitting = Math.floor(width / (form.wide * size + GAP_PX));
  return Math.max(1, Math.min(MAX_COLUMNS, count, fitting));
}

function largestSize(form, width, height, count) {
  for (let size = form.sizes[0]; size >= form.sizes[1]; size -= 0.5) {
    const rows = Math.ceil(count / columnsFor(form, width, size, count));
    if (rows * (form.tall * size + GAP_PX) <= height && form.wide * size <= width) {
      return size;
    }
  }
  return null;
}

function apply(tiles, form, across, size) {
  tiles.style.fontSize = `${size}px`;
  setAttribute(tiles, "data-columns", across);
  setClass(tiles, "roomy", form === ROOMY);
  setClass(tiles, "compact", form === COMPACT);
  return form === ROOMY;
}

export function fitGrid(tiles, floor, count) {
  const width = floor.clientWidth - 28;
  const height = floor.clientHeight - 32;
  let form = ROOMY;
  if (window.innerWidth <= 900) {
    form = count <= 4 ? ROOMY : COMPACT;
    return apply(tiles, form, width < 520 ? 1 : 2, width < 520 && count <= 4 ? 18 : 16);
  }
  let size = largestSize(form, width, height, count);
  if (size === null) {
    form = COMPACT;
    size = largestSize(form, width, height, count) || SMALLEST_SIZE;
  }
  return apply(tiles, form, columnsFor(form, width, size, count), size);
}
