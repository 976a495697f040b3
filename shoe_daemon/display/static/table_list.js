/*
 * The list of tables: the page of `/` and of every unknown address.
 *
 * Document `table_list`: {"why": "home" | "not_found" | "ambiguous" | "full", "tables": [{"key",
 * "name", "url"}], "pit": url or null}. There is no stream.
 *
 * For tests: body data-why, data-tables; #tables > li with data-key; #find filters them.
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var SHOW_FILTER_ABOVE = 12;
  var TITLES = {
    home: "table_list",
    not_found: "page_not_found",
    ambiguous: "lost_ambiguous",
    full: "lost_full"
  };

  function createItem(each) {
    return Shoe.el("li", {
      "data-key": each.key,
      "data-find": (each.name + " " + each.key).toLowerCase()
    }, [
      Shoe.el("a", { "class": "to-board", href: Shoe.pageUrl(each.url) }, [
        Shoe.el("b", { text: each.name }),
        Shoe.el("span", { "class": "key", text: each.key.replace(".", " / ") })
      ]),
      Shoe.el("a", {
        "class": "to-history",
        href: Shoe.pageUrl(each.url + "/history"),
        "aria-label": Shoe.word("history") + ": " + each.name,
        text: Shoe.word("history")
      })
    ]);
  }

  function applyFilter() {
    var wanted = byId("find").value.trim().toLowerCase();
    Array.prototype.forEach.call(byId("tables").children, function (item) {
      Shoe.setClass(item, "hidden", item.getAttribute("data-find").indexOf(wanted) < 0);
    });
  }

  function showTables(data) {
    Shoe.setAttribute(document.body, "data-why", data.why);
    Shoe.setAttribute(document.body, "data-tables", data.tables.length);
    Shoe.setText(byId("title"), Shoe.word(TITLES[data.why] || "page_not_found"));
    document.title = Shoe.word(TITLES[data.why] || "page_not_found");
    Shoe.setClass(byId("list-title"), "hidden", data.why !== "not_found" || !data.tables.length);
    Shoe.setChildren(byId("tables"), data.tables.map(createItem));
    Shoe.setClass(byId("nothing"), "hidden", data.tables.length > 0 || data.why === "full");
    Shoe.setClass(byId("find-box"), "hidden", data.tables.length <= SHOW_FILTER_ABOVE);
    Shoe.setClass(byId("pit"), "hidden", !data.pit);
    Shoe.setAttribute(byId("pit"), "href", Shoe.pageUrl(data.pit || "/pit"));
    if (data.why === "full" || !data.tables.length) {
      // Without tables, or without a free stream, the page tries again.
      window.setTimeout(function () { window.location.reload(); }, 10000);
    }
  }

  Shoe.fillWords();
  byId("find").addEventListener("input", applyFilter);
  Shoe.handleInitial({ table_list: showTables });
  Shoe.showPage();
}());
