/*
 * The list of tables, which is the page of `/`, and what stands on every wrong address.
 *
 * Document `lost`: {"why": "home" | "not_found" | "ambiguous" | "full", "tables": [{"key","name",
 * "url"}], "pit": url or null}. There is no stream.
 *
 * For tests: body data-why, data-tables; #tables > li with data-key; #find filters them.
 */
(function () {
  "use strict";

  var byId = Shoe.byId;
  var MANY = 12;
  var TITLES = {
    home: "table_list",
    not_found: "page_not_found",
    ambiguous: "lost_ambiguous",
    full: "lost_full"
  };

  function table(each) {
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

  function find() {
    var wanted = byId("find").value.trim().toLowerCase();
    Array.prototype.forEach.call(byId("tables").children, function (item) {
      Shoe.setClass(item, "hidden", item.getAttribute("data-find").indexOf(wanted) < 0);
    });
  }

  function show(lost) {
    Shoe.setAttribute(document.body, "data-why", lost.why);
    Shoe.setAttribute(document.body, "data-tables", lost.tables.length);
    Shoe.setText(byId("title"), Shoe.word(TITLES[lost.why] || "page_not_found"));
    document.title = Shoe.word(TITLES[lost.why] || "page_not_found");
    Shoe.setClass(byId("list-title"), "hidden", lost.why !== "not_found" || !lost.tables.length);
    Shoe.setChildren(byId("tables"), lost.tables.map(table));
    Shoe.setClass(byId("nothing"), "hidden", lost.tables.length > 0 || lost.why === "full");
    Shoe.setClass(byId("find-box"), "hidden", lost.tables.length <= MANY);
    Shoe.setClass(byId("pit"), "hidden", !lost.pit);
    Shoe.setAttribute(byId("pit"), "href", Shoe.pageUrl(lost.pit || "/pit"));
    if (lost.why === "full" || !lost.tables.length) {
      // Who waits for room, or for the first table, need not ask again by hand.
      window.setTimeout(function () { window.location.reload(); }, 10000);
    }
  }

  Shoe.fillWords();
  byId("find").addEventListener("input", find);
  Shoe.handleInitial({ table_list: show });
  Shoe.showPage();
}());
