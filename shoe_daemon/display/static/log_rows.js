/*
 * Rows of the log: irregularities and decisions, and rounds.
 *
 * Shoe.logRows.entryTable(rows)   head and body of a table of irregularities and decisions
 * Shoe.logRows.roundTable(rows)   head and body of a table of rounds
 * Shoe.logRows.setNames(tables)   names of tables: [{"key", "name"}]
 * Shoe.logRows.kind(kind)         name of an irregularity's kind, or of a decision
 * Shoe.logRows.marks(marks)       marks of a round
 * Shoe.logRows.outcome(round)     the outcome with its side
 * Shoe.logRows.roundUrl(row)      address of the page of a row's round; null without a round
 *
 * Every row is a <tr> with data-table, data-round and, of an entry, data-kind, data-severity and
 * data-open. Every cell has data-title, the head of its column, for narrow pages.
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var names = {};
  var rows = {};
  Shoe.logRows = rows;

  rows.setNames = function (tables) {
    (tables || []).forEach(function (table) { names[table.key] = table.name; });
  };

  function tableName(key) {
    return names[key] || key.slice(key.indexOf(".") + 1);
  }

  rows.kind = function (kind) {
    return Shoe.hasWord("irregularity_" + kind) ? Shoe.format.kind(kind) : Shoe.word("log_kind_" + kind);
  };

  rows.roundUrl = function (row) {
    return row.round === null || row.shoe === null ? null : Shoe.pageUrl(
      "/pit/round/" + encodeURIComponent(row.table) + "/" + row.shoe + "/" + row.round);
  };

  function timeCell(text) {
    return Shoe.el("time", { datetime: text.replace(" ", "T") }, [
      Shoe.el("span", { "class": "day", text: text.slice(0, 10) }), " ",
      Shoe.el("b", { text: text.slice(11) })
    ]);
  }

  function placeCell(row) {
    var url = rows.roundUrl(row);
    var text = row.shoe === null ? "" : row.round === null
      ? Shoe.word("shoe_number", { number: row.shoe })
      : Shoe.word("shoe_round", { shoe: row.shoe, round: row.round });
    return [
      Shoe.el("b", { "class": "table-name", text: tableName(row.table) }),
      text ? Shoe.el(url ? "a" : "span", { "class": "place", href: url, text: text }) : null
    ];
  }

  /* Irregularities and decisions. */

  function detail(row) {
    var data = row.data || {};
    var about = [];
    if (data.slot) { about.push(Shoe.format.place(data.slot)); }
    if (data.card) { about.push(Shoe.format.card(data.card)); }
    if (row.kind === "card_corrected") {
      about.push(Shoe.format.card(data.before) + " → " + Shoe.format.card(data.after));
    }
    return [
      data.detail
        ? Shoe.sentenceElement("span", "detail", Shoe.sentence(data, data.detail)) : null,
      about.length ? Shoe.el("span", { "class": "about", text: about.join(" · ") }) : null
    ];
  }

  function kindCell(row) {
    return [
      Shoe.el("span", { "class": "kind-head" }, [
        row.severity ? Shoe.el("b", {
          "class": "grade",
          "data-severity": row.severity,
          title: Shoe.format.severity(row.severity),
          text: row.severity
        }) : Shoe.el("b", { "class": "grade none", "aria-hidden": "true", text: "–" }),
        Shoe.el("b", { "class": "kind", text: rows.kind(row.kind) })
      ]),
      detail(row)
    ];
  }

  function ruleText(row) {
    return row.authority ? [row.authority, row.section].filter(Boolean).map(function (each) {
      return Shoe.phrase(each).text;
    }).join(Shoe.word("cite_comma")) : null;
  }

  function decisionCell(row) {
    var reason = row.reason ? Shoe.phrase(row.reason) : null;
    var rule = ruleText(row);
    if (row.closed === null) {
      return Shoe.el("span", { "class": "tag wait", text: Shoe.word("log_open") });
    }
    return [
      row.action ? Shoe.el("b", { "class": "action", text: Shoe.format.action(row.action) }) : null,
      row.seconds === null ? null : Shoe.el("span", {
        "class": "took",
        text: Shoe.word("log_after", { time: Shoe.formatDuration(row.seconds * 1000) })
      }),
      rule ? Shoe.el("span", { "class": "rule" }, [
        rule,
        row.verified === false ? Shoe.el("span", {
          "class": "unverified",
          text: " " + Shoe.word("proposal_not_verified")
        }) : null
      ]) : null,
      reason ? Shoe.el("span", { "class": "reason", lang: reason.lang,
        text: "“" + reason.text + "”" }) : null
    ];
  }

  function personCell(row) {
    return [
      row.closed === null ? null : Shoe.el("b", {
        "class": "operator",
        text: row.operator || Shoe.word("log_equipment")
      }),
      row.dealer ? Shoe.el("span", {
        "class": "dealer",
        text: Shoe.word("event_dealer_changed", { dealer: row.dealer })
      }) : null
    ];
  }

  /* Rounds. */

  /* The outcome says already that a round is void or aborted. */
  rows.marks = function (marks) {
    return marks.filter(function (mark) {
      return mark !== "void" && mark !== "aborted";
    }).map(function (mark) {
      return Shoe.el("span", { "class": "mark " + mark, text: Shoe.word("log_mark_" + mark) });
    });
  };

  rows.outcome = function (row) {
    var word = row.outcome ? Shoe.format.outcome(row.outcome)
      : row.marks.indexOf("void") >= 0 ? Shoe.word("log_mark_void")
        : row.marks.indexOf("aborted") >= 0 ? Shoe.word("log_mark_aborted")
          : Shoe.word(row.ended ? "no_result" : "log_running");
    return Shoe.el("b", { "class": "outcome-word " + (row.outcome || "none"), text: word });
  };

  function handCell(side) {
    return function (row) {
      return Shoe.el("span", { "class": "small-hand" }, [
        Shoe.el("b", { "class": "points " + side,
          text: Shoe.formatNumber(row[side + "_total"]) }),
        row[side].map(function (card) {
          return Shoe.el("span", {
            "class": "small-card" + (/[HD]$/.test(card) ? " red" : ""),
            text: card === "?" ? "?" : Shoe.cardName(card)
          });
        })
      ]);
    };
  }

  function marksCell(row) {
    return rows.marks(row.marks);
  }

  /* Tables. */

  function table(columns, list, attributes) {
    return [
      Shoe.el("thead", {}, Shoe.el("tr", {}, columns.map(function (column) {
        return Shoe.el("th", { scope: "col", "class": column[0], text: Shoe.word(column[1]) });
      }))),
      Shoe.el("tbody", {}, list.map(function (row) {
        return Shoe.el("tr", attributes(row), columns.map(function (column) {
          return Shoe.el("td", { "class": column[0], "data-title": Shoe.word(column[1]) },
            column[2](row));
        }));
      }))
    ];
  }

  rows.entryTable = function (list) {
    return table([
      ["at", "time", function (row) { return timeCell(row.time); }],
      ["where", "table", placeCell],
      ["what", "log_kind", kindCell],
      ["decision", "log_decision", decisionCell],
      ["who", "log_operator", personCell]
    ], list, function (row) {
      return {
        "data-table": row.table,
        "data-round": row.round,
        "data-kind": row.kind,
        "data-severity": row.severity,
        "data-open": String(row.closed === null)
      };
    });
  };

  rows.roundTable = function (list) {
    return table([
      ["at", "time", function (row) { return timeCell(row.time); }],
      ["where", "table", placeCell],
      ["hand", "player", handCell("player")],
      ["hand", "banker", handCell("banker")],
      ["result", "result", rows.outcome],
      ["marks", "marks", marksCell]
    ], list, function (row) {
      return { "data-table": row.table, "data-round": row.round };
    });
  };
}());
