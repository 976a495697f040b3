/*
 * Drawings of the five roads and of the asks, from the document `roads`.
 *
 * drawRoad(kind, roads, options)   an <svg class="road" data-road=kind data-first=column>, its
 *   first column drawn, data-columns=number of columns that fit
 *     kind:    "bead", "big", "big_eye", "small" or "cockroach"
 *     roads:   the document; null draws the empty grid
 *     options: {width, height} of the box in pixels, {fresh: true} if the last cell blinks,
 *              {paper: false} without ground and grid
 *   The height is divided into six rows. If the width is too small, whole columns are left out on
 *   the left; the last column stays empty, except on the bead plate.
 *   A cell is <g class="cell" data-col data-row> with the attributes:
 *     bead: data-outcome, data-player-pair, data-banker-pair, data-natural ("true" or absent)
 *     big:  data-side, data-ties, data-player-pair, data-banker-pair
 *     big_eye, small, cockroach: data-mark ("red", "blue")
 *   The newest cell has data-last.
 * roadKey(kind, roads)         a text that changes with the drawing
 * drawAsk(side, roads)         an <svg class="ask" data-ask=side> of three marks, with
 *                              data-big-eye, data-small, data-cockroach ("red", "blue", "")
 * drawDisc(side)               an <svg class="disc">: the side's glyph, as on the bead plate
 *
 * A natural has a gold ring on the bead plate.
 * Red marks are drawn heavier than blue ones, so that they differ without colour too.
 */
import { svg } from "./dom.js";
import { glyph, page } from "./translations.js";

const ROWS = 6;
const RED = "var(--banker)";
const BLUE = "var(--road-blue)";
const GREEN = "var(--road-green)";
const PAPER = "var(--paper)";
const GRID = "var(--paper-grid)";
const COLOUR = { player: BLUE, banker: RED, tie: GREEN, red: RED, blue: BLUE };
const EDGE_TOLERANCE = 0.02;

function trueOrNull(value) {
  return value ? "true" : null;
}

function createDot(x, y, r, colour) {
  return svg("circle", {
    cx: x, cy: y, r, fill: colour, stroke: "var(--white)", "stroke-width": r * 0.4
  });
}

function createPairDots(cell, far, r) {
  return [
    cell.banker_pair ? createDot(-far, -far, r, RED) : null,
    cell.player_pair ? createDot(far, far, r, BLUE) : null
  ];
}

function createLetter(side, size) {
  return svg("text", {
    y: size * (page.glyphs === "chinese" ? 0.37 : 0.36), "font-size": size,
    "text-anchor": "middle", "font-weight": 700, fill: "var(--white)",
    text: glyph(side)
  });
}

function createDisc(side) {
  return [svg("circle", { r: 44, fill: COLOUR[side] }), createLetter(side, 58)];
}

/* Every drawing has the coordinates -50 to 50. */
const CELL_DRAWINGS = {
  bead(cell) {
    return [
      createDisc(cell.outcome),
      cell.natural ? svg("circle", {
        r: 40, fill: "none", stroke: "var(--road-natural)", "stroke-width": 6
      }) : null,
      createPairDots(cell, 32, 13)
    ];
  },
  big(cell) {
    return [
      svg("circle", {
        r: 36, fill: "none", stroke: COLOUR[cell.side],
        "stroke-width": cell.side === "banker" ? 14 : 10
      }),
      cell.ties || cell.side === "tie" ? createTieMark(cell.ties) : null,
      createPairDots(cell, 30, 13)
    ];
  },
  big_eye(cell) {
    const red = cell.mark === "red";
    return svg("circle", {
      r: red ? 33 : 36, fill: "none", stroke: COLOUR[cell.mark], "stroke-width": red ? 20 : 13
    });
  },
  small(cell) {
    const red = cell.mark === "red";
    return [
      svg("circle", { r: red ? 43 : 41, fill: COLOUR[cell.mark] }),
      red ? null : svg("circle", { r: 12, fill: PAPER })
    ];
  },
  cockroach(cell) {
    return svg("path", {
      d: "M-36 36L36 -36", stroke: COLOUR[cell.mark], "stroke-linecap": "round",
      "stroke-width": cell.mark === "red" ? 21 : 13
    });
  }
};

function createTieMark(ties) {
  return [
    svg("path", {
      d: "M-34 34L34 -34", stroke: GREEN, "stroke-width": 13, "stroke-linecap": "round"
    }),
    ties > 1 ? svg("text", {
      y: 21, "font-size": 58, "text-anchor": "middle", "font-weight": 700,
      fill: GREEN, stroke: "var(--white)", "stroke-width": 14, "paint-order": "stroke",
      "stroke-linejoin": "round", text: ties
    }) : null
  ];
}

function cellAttributes(cell) {
  return {
    class: "cell",
    "data-col": cell.col,
    "data-row": cell.row,
    "data-outcome": cell.outcome,
    "data-side": cell.side,
    "data-ties": cell.ties,
    "data-mark": cell.mark,
    "data-player-pair": trueOrNull(cell.player_pair),
    "data-banker-pair": trueOrNull(cell.banker_pair),
    "data-natural": trueOrNull(cell.natural)
  };
}

function columnCount(cells) {
  return cells.reduce((most, cell) => Math.max(most, cell.col + 1), 0);
}

function createGrid(columns, width, height) {
  let lines = "";
  let i;
  for (i = 1; i < columns; i += 1) {
    lines += `M${Math.round(i * width / columns)} 0v${height}`;
  }
  for (i = 1; i < ROWS; i += 1) {
    lines += `M0 ${Math.round(i * height / ROWS)}h${width}`;
  }
  return svg("path", {
    d: lines, stroke: GRID, "stroke-width": 1, fill: "none", "shape-rendering": "crispEdges"
  });
}

function createCell(kind, cell, first, wide, high) {
  const size = Math.min(wide, high) / 100;
  const attrs = cellAttributes(cell);
  const x = ((cell.col - first + 0.5) * wide).toFixed(2);
  const y = ((cell.row + 0.5) * high).toFixed(2);
  attrs.transform = `translate(${x} ${y}) scale(${size.toFixed(4)})`;
  return svg("g", attrs, svg("g", {}, CELL_DRAWINGS[kind](cell)));
}

export function drawRoad(kind, roads, options) {
  const cells = roads && roads[kind] || [];
  const height = options.height;
  const columns = Math.max(1, Math.floor(options.width / (height / ROWS) + EDGE_TOLERANCE));
  const wide = options.width / columns;
  const first = Math.max(0, columnCount(cells) + (kind === "bead" ? 0 : 1) - columns);
  const last = cells[cells.length - 1];
  return svg("svg", {
    class: "road", "data-road": kind, "data-first": first, "data-columns": columns,
    viewBox: `0 0 ${options.width} ${height}`, "aria-hidden": "true", focusable: "false"
  }, [
    options.paper === false ? null : createGrid(columns, options.width, height),
    cells.filter(cell => cell.col >= first).map(cell => {
      const node = createCell(kind, cell, first, wide, height / ROWS);
      if (cell === last) {
        node.setAttribute("data-last", "");
        if (options.fresh) {
          node.setAttribute("class", "cell fresh");
        }
      }
      return node;
    })
  ]);
}

export function roadKey(kind, roads) {
  return roads && roads[kind] ? JSON.stringify(roads[kind]) : "";
}

export function drawAsk(side, roads) {
  const ask = roads && roads.ask && roads.ask[side] || {};
  const kinds = ["big_eye", "small", "cockroach"];
  const attrs = { class: "ask", "data-ask": side, viewBox: "0 0 320 100", focusable: "false" };
  attrs["aria-hidden"] = "true";
  return svg("svg", attrs, kinds.map((kind, i) => {
    const mark = ask[kind] ? ask[kind].mark : "";
    attrs[`data-${kind.replace("_", "-")}`] = mark;
    return svg("g", { transform: `translate(${50 + 110 * i} 50)` },
      mark ? CELL_DRAWINGS[kind]({ mark }) : svg("path", {
        d: "M-16 0h32", stroke: "var(--road-ask-empty)", "stroke-width": 6,
        "stroke-linecap": "round"
      }));
  }));
}

export function drawDisc(side) {
  return svg("svg", {
    class: "disc", viewBox: "-50 -50 100 100", "aria-hidden": "true", focusable: "false",
    "data-side": side
  }, createDisc(side));
}
