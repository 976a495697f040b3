/*
 * The log of the pit: searches for irregularities, decisions and rounds.
 *
 * Document `log`: {"enabled", "view", "values", "errors", "kinds", "marks", "tables", "operators",
 * "dealers", "rows", "next", "incomplete", "state", "failed", "zone"}. The address is the search,
 * so it can be kept as a bookmark. There is no stream.
 *
 * For tests: body data-view, data-rows, data-failed; #fields [name]; #rows tbody > tr, see
 * log_rows.js; #notices > p with data-notice; #pages > a; #exports > a with data-format
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var log = null;
  var VIEWS = { irregularities: "log_irregularities", rounds: "log_rounds" };
  var FIELDS = {
    irregularities: ["table", "shoe", "round", "from", "to", "kind", "severity", "operator",
      "dealer", "open"],
    rounds: ["table", "shoe", "round", "from", "to", "outcome", "mark", "cards"]
  };
  var LABELS = {
    table: "table", shoe: "shoe", round: "round", from: "log_from", to: "log_to",
    kind: "log_kind", severity: "severity", operator: "log_operator", dealer: "log_dealer",
    open: "log_open_only", outcome: "result", mark: "log_mark", cards: "cards"
  };

  /* Addresses. */

  function keptParameters() {
    return (window.location.search.match(/(?:lang|glyphs)=[a-z-]+/g) || []);
  }

  function urlOf(values, more) {
    var parts = keptParameters();
    Object.keys(values).concat(Object.keys(more || {})).forEach(function (name) {
      var value = more && more[name] !== undefined ? more[name] : values[name];
      if (value && !parts.some(function (part) { return part.indexOf(name + "=") === 0; })) {
        parts.push(name + "=" + encodeURIComponent(value));
      }
    });
    return "/pit/log" + (parts.length ? "?" + parts.join("&") : "");
  }

  function values() {
    var found = { view: log.view === "irregularities" ? "" : log.view };
    Object.keys(log.values).forEach(function (name) { found[name] = log.values[name]; });
    return found;
  }

  /* Fields. */

  function option(value, text, chosen) {
    return Shoe.el("option", { value: value, text: text, selected: value === chosen ? "" : null });
  }

  function select(name, choices) {
    return Shoe.el("select", { name: name, id: "field-" + name },
      [option("", Shoe.word("log_any"), log.values[name] || "")].concat(
        choices.map(function (choice) {
          return option(choice[0], choice[1], log.values[name]);
        })));
  }

  function input(name, attributes) {
    var all = { name: name, id: "field-" + name, value: log.values[name] || "",
      autocomplete: "off", spellcheck: "false", maxlength: 80 };
    Object.keys(attributes || {}).forEach(function (key) { all[key] = attributes[key]; });
    return Shoe.el("input", all);
  }

  function nameInput(name, known) {
    return [
      input(name, { list: "known-" + name }),
      Shoe.el("datalist", { id: "known-" + name }, known.map(function (each) {
        return Shoe.el("option", { value: each });
      }))
    ];
  }

  function tableChoices() {
    var found = (log.tables || []).map(function (table) { return [table.key, table.name]; });
    var chosen = log.values.table;
    if (chosen && !found.some(function (each) { return each[0] === chosen; })) {
      found.push([chosen, chosen]);
    }
    return found;
  }

  var CONTROLS = {
    table: function () { return select("table", tableChoices()); },
    shoe: function () { return input("shoe", { inputmode: "numeric", maxlength: 7 }); },
    round: function () { return input("round", { inputmode: "numeric", maxlength: 7 }); },
    from: function () { return input("from", { type: "datetime-local", step: 1 }); },
    to: function () { return input("to", { type: "datetime-local", step: 1 }); },
    kind: function () {
      return select("kind", log.kinds.map(function (kind) {
        return [kind, Shoe.logRows.kind(kind)];
      }).sort(function (one, other) { return one[1].localeCompare(other[1]); }));
    },
    severity: function () {
      return select("severity", ["1", "2", "3", "4", "5"].map(function (each) {
        return [each, each + " – " + Shoe.format.severity(each)];
      }));
    },
    operator: function () { return nameInput("operator", log.operators || []); },
    dealer: function () { return nameInput("dealer", log.dealers || []); },
    open: function () {
      return Shoe.el("input", { type: "checkbox", name: "open", id: "field-open", value: "1",
        checked: log.values.open ? "" : null });
    },
    outcome: function () {
      return select("outcome", ["player", "banker", "tie"].map(function (outcome) {
        return [outcome, Shoe.format.outcome(outcome)];
      }));
    },
    mark: function () {
      return select("mark", log.marks.map(function (mark) {
        return [mark, Shoe.word("log_mark_" + mark)];
      }));
    },
    cards: function () { return input("cards", { placeholder: "9H KS" }); }
  };

  function createField(name) {
    var wrong = log.errors.indexOf(name) >= 0;
    return Shoe.el("div", { "class": "field of-" + name + (wrong ? " wrong" : "") }, [
      Shoe.el("label", { "for": "field-" + name, text: Shoe.word(LABELS[name]) }),
      CONTROLS[name]()
    ]);
  }

  function submit(event) {
    var found = { view: log.view === "irregularities" ? "" : log.view };
    event.preventDefault();
    Array.prototype.forEach.call(byId("search").elements, function (field) {
      if (field.name && (field.type !== "checkbox" || field.checked)) {
        found[field.name] = field.value.trim();
      }
    });
    window.location.assign(urlOf(found));
  }

  /* Notices. */

  function notice(name, text, tone) {
    return Shoe.el("p", { "class": "notice " + (tone || ""), "data-notice": name, text: text });
  }

  function notices() {
    var found = [];
    var state = log.state || {};
    if (log.errors.length) {
      found.push(notice("invalid", Shoe.word("log_invalid") + " " + log.errors.map(
        function (name) { return Shoe.word(LABELS[name] || name); })
        .join(Shoe.word("list_comma")), "bad"));
    }
    if (log.failed) { found.push(notice("failed", Shoe.word("log_failed_" + log.failed), "bad")); }
    if (state.failure) { found.push(notice("failure", Shoe.word("log_failure"), "bad")); }
    if (state.moved_aside) {
      found.push(notice("moved_aside",
        Shoe.word("log_moved_aside", { time: state.moved_aside })));
    }
    if ((log.incomplete || []).length && state.refused) {
      found.push(notice("refused", Shoe.word("log_refused")));
    }
    return found.concat((log.incomplete || []).map(function (gap) {
      return notice("incomplete", Shoe.word("log_incomplete", {
        table: gap.table,
        from: gap.from || Shoe.word("log_beginning"),
        to: gap.to || Shoe.word("log_now")
      }));
    }));
  }

  /* The page. */

  function createViews() {
    return Object.keys(VIEWS).map(function (view) {
      var kept = {};
      FIELDS[view].forEach(function (name) { kept[name] = log.values[name]; });
      kept.view = view === "irregularities" ? "" : view;
      return Shoe.el("a", {
        href: urlOf(kept),
        text: Shoe.word(VIEWS[view]),
        "aria-current": view === log.view ? "page" : null
      });
    });
  }

  function createPages() {
    return [
      log.first_page ? null : Shoe.el("a", {
        "class": "button", href: urlOf(values()), text: "‹ " + Shoe.word("log_newest")
      }),
      log.next ? Shoe.el("a", {
        "class": "button", rel: "next", href: urlOf(values(), { after: log.next }),
        text: Shoe.word("log_older") + " ›"
      }) : null
    ];
  }

  function createTools() {
    return [
      Shoe.word("log_export") + ": ",
      [["csv", "CSV"], ["jsonl", "JSON Lines"]].map(function (format) {
        return [Shoe.el("a", {
          href: urlOf(values(), { format: format[0] }),
          "data-format": format[0],
          download: "",
          text: format[1]
        }), " "];
      })
    ];
  }

  function valueText(name) {
    var value = log.values[name];
    var field = byId("field-" + name);
    return field && field.tagName === "SELECT" && field.selectedIndex > 0
      ? field.options[field.selectedIndex].text : value.replace("T", " ");
  }

  /* What was asked for: printed, where the fields are not. */
  function askedText() {
    return FIELDS[log.view].filter(function (name) { return log.values[name]; })
      .map(function (name) {
        return Shoe.word(LABELS[name]) + (name === "open" ? "" : ": " + valueText(name));
      }).join(" · ");
  }

  function take(found) {
    log = found;
    Shoe.logRows.setNames(log.tables);
    Shoe.setAttribute(document.body, "data-view", log.view);
    Shoe.setAttribute(document.body, "data-rows", log.rows.length);
    Shoe.setAttribute(document.body, "data-failed", log.failed);
    document.title = Shoe.word("log_title") + " – " + Shoe.word(VIEWS[log.view]);
    Shoe.setChildren(byId("views"), createViews());
    Shoe.setChildren(byId("fields"), FIELDS[log.view].map(createField));
    Shoe.setAttribute(byId("clear"), "href",
      urlOf({ view: log.view === "irregularities" ? "" : log.view }));
    Shoe.setChildren(byId("notices"), notices());
    Shoe.setText(byId("asked"), askedText());
    Shoe.setText(byId("zone"), Shoe.word("log_zone", { zone: log.zone }));
    Shoe.setChildren(byId("exports"), createTools());
    Shoe.setChildren(byId("rows"), log.rows.length ? (log.view === "rounds"
      ? Shoe.logRows.roundTable(log.rows) : Shoe.logRows.entryTable(log.rows)) : null);
    Shoe.setClass(byId("search"), "hidden", !log.enabled);
    Shoe.setClass(byId("nothing"), "hidden", log.rows.length > 0 || Boolean(log.failed));
    Shoe.setText(byId("nothing"), Shoe.word(log.enabled ? "log_nothing" : "log_disabled"));
    Shoe.setChildren(byId("pages"), createPages());
  }

  Shoe.fillWords();
  Shoe.handleInitial({ log: take });
  byId("search").addEventListener("submit", submit);
  Shoe.showPage();
}());
