/*
 * Drawings of the five roads and of the asks, from the document `roads`.
 *
 * Shoe.drawRoad(kind, roads, options)   an <svg class="road" data-road=kind data-first=column>, its
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
 * Shoe.roadKey(kind, roads)         a text that changes with the drawing
 * Shoe.drawAsk(side, roads)         an <svg class="ask" data-ask=side> of three marks, with
 *                                   data-big-eye, data-small, data-cockroach ("red", "blue", "")
 * Shoe.drawDisc(side)               an <svg class="disc">: the side's glyph, as on the bead plate
 *
 * A natural has a gold ring on the bead plate.
 * Red marks are drawn heavier than blue ones, so that they differ without colour too.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var ROWS = 6;
  var RED = "var(--banker)";
  var BLUE = "var(--road-blue)";
  var GREEN = "var(--road-green)";
  var PAPER = "var(--paper)";
  var GRID = "var(--paper-grid)";
  var COLOUR = { player: BLUE, banker: RED, tie: GREEN, red: RED, blue: BLUE };
  var EDGE_TOLERANCE = 0.02;

  function trueOrNull(value) {
    return value ? "true" : null;
  }

  function createDot(x, y, r, colour) {
    return Shoe.svg("circle", {
      cx: x, cy: y, r: r, fill: colour, stroke: "var(--white)", "stroke-width": r * 0.4
    });
  }

  function createPairDots(cell, far, r) {
    return [
      cell.banker_pair ? createDot(-far, -far, r, RED) : null,
      cell.player_pair ? createDot(far, far, r, BLUE) : null
    ];
  }

  function createLetter(side, size) {
    return Shoe.svg("text", {
      y: size * (Shoe.page().glyphs === "chinese" ? 0.37 : 0.36), "font-size": size,
      "text-anchor": "middle", "font-weight": 700, fill: "var(--white)",
      text: Shoe.glyph(side)
    });
  }

  function createDisc(side) {
    return [Shoe.svg("circle", { r: 44, fill: COLOUR[side] }), createLetter(side, 58)];
  }

  /* Every drawing has the coordinates -50 to 50. */
  var CELL_DRAWINGS = {
    bead: function (cell) {
      return [
        createDisc(cell.outcome),
        cell.natural ? Shoe.svg("circle", {
          r: 40, fill: "none", stroke: "var(--road-natural)", "stroke-width": 6
        }) : null,
        createPairDots(cell, 32, 13)
      ];
    },
    big: function (cell) {
      return [
        Shoe.svg("circle", {
          r: 36, fill: "none", stroke: COLOUR[cell.side],
          "stroke-width": cell.side === "banker" ? 14 : 10
        }),
        cell.ties || cell.side === "tie" ? createTieMark(cell.ties) : null,
        createPairDots(cell, 30, 13)
      ];
    },
    big_eye: function (cell) {
      var red = cell.mark === "red";
      return Shoe.svg("circle", {
        r: red ? 33 : 36, fill: "none", stroke: COLOUR[cell.mark], "stroke-width": red ? 20 : 13
      });
    },
    small: function (cell) {
      var red = cell.mark === "red";
      return [
        Shoe.svg("circle", { r: red ? 43 : 41, fill: COLOUR[cell.mark] }),
        red ? null : Shoe.svg("circle", { r: 12, fill: PAPER })
      ];
    },
    cockroach: function (cell) {
      return Shoe.svg("path", {
        d: "M-36 36L36 -36", stroke: COLOUR[cell.mark], "stroke-linecap": "round",
        "stroke-width": cell.mark === "red" ? 21 : 13
      });
    }
  };

  function createTieMark(ties) {
    return [
      Shoe.svg("path", {
        d: "M-34 34L34 -34", stroke: GREEN, "stroke-width": 13, "stroke-linecap": "round"
      }),
      ties > 1 ? Shoe.svg("text", {
        y: 21, "font-size": 58, "text-anchor": "middle", "font-weight": 700,
        fill: GREEN, stroke: "var(--white)", "stroke-width": 14, "paint-order": "stroke",
        "stroke-linejoin": "round", text: ties
      }) : null
    ];
  }

  function cellAttributes(cell) {
    return {
      "class": "cell",
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
    return cells.reduce(function (most, cell) {
      return Math.max(most, cell.col + 1);
    }, 0);
  }

  function createGrid(columns, width, height) {
    var lines = "";
    var i;
    for (i = 1; i < columns; i += 1) {
      lines += "M" + Math.round(i * width / columns) + " 0v" + height;
    }
    for (i = 1; i < ROWS; i += 1) {
      lines += "M0 " + Math.round(i * height / ROWS) + "h" + width;
    }
    return Shoe.svg("path", {
      d: lines, stroke: GRID, "stroke-width": 1, fill: "none", "shape-rendering": "crispEdges"
    });
  }

  function createCell(kind, cell, first, wide, high) {
    var size = Math.min(wide, high) / 100;
    var attrs = cellAttributes(cell);
    attrs.transform = "translate(" + ((cell.col - first + 0.5) * wide).toFixed(2) + " " +
      ((cell.row + 0.5) * high).toFixed(2) + ") scale(" + size.toFixed(4) + ")";
    return Shoe.svg("g", attrs, Shoe.svg("g", {}, CELL_DRAWINGS[kind](cell)));
  }

  Shoe.drawRoad = function (kind, roads, options) {
    var cells = roads && roads[kind] || [];
    var height = options.height;
    var columns = Math.max(1, Math.floor(options.width / (height / ROWS) + EDGE_TOLERANCE));
    var wide = options.width / columns;
    var first = Math.max(0, columnCount(cells) + (kind === "bead" ? 0 : 1) - columns);
    var last = cells[cells.length - 1];
    return Shoe.svg("svg", {
      "class": "road", "data-road": kind, "data-first": first, "data-columns": columns,
      viewBox: "0 0 " + options.width + " " + height, "aria-hidden": "true", focusable: "false"
    }, [
      options.paper === false ? null : createGrid(columns, options.width, height),
      cells.filter(function (cell) {
        return cell.col >= first;
      }).map(function (cell) {
        var node = createCell(kind, cell, first, wide, height / ROWS);
        if (cell === last) {
          node.setAttribute("data-last", "");
          if (options.fresh) {
            node.setAttribute("class", "cell fresh");
          }
        }
        return node;
      })
    ]);
  };

  Shoe.roadKey = function (kind, roads) {
    return roads && roads[kind] ? JSON.stringify(roads[kind]) : "";
  };

  Shoe.drawAsk = function (side, roads) {
    var ask = roads && roads.ask && roads.ask[side] || {};
    var kinds = ["big_eye", "small", "cockroach"];
    var attrs = { "class": "ask", "data-ask": side, viewBox: "0 0 320 100", focusable: "false" };
    attrs["aria-hidden"] = "true";
    return Shoe.svg("svg", attrs, kinds.map(function (kind, i) {
      var mark = ask[kind] ? ask[kind].mark : "";
      attrs["data-" + kind.replace("_", "-")] = mark;
      return Shoe.svg("g", { transform: "translate(" + (50 + 110 * i) + " 50)" },
        mark ? CELL_DRAWINGS[kind]({ mark: mark }) : Shoe.svg("path", {
          d: "M-16 0h32", stroke: "var(--road-ask-empty)", "stroke-width": 6,
          "stroke-linecap": "round"
        }));
    }));
  };

  Shoe.drawDisc = function (side) {
    return Shoe.svg("svg", {
      "class": "disc", viewBox: "-50 -50 100 100", "aria-hidden": "true", focusable: "false",
      "data-side": side
    }, createDisc(side));
  };
}());
