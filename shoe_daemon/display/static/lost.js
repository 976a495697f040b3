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
      Shoe.el("a", { "class": "to-board", href: Shoe.address(each.url) }, [
        Shoe.el("b", { text: each.name }),
        Shoe.el("span", { "class": "key", text: each.key.replace(".", " / ") })
      ]),
      Shoe.el("a", {
        "class": "to-history",
        href: Shoe.address(each.url + "/history"),
        "aria-label": Shoe.word("history") + ": " + each.name,
        text: Shoe.word("history")
      })
    ]);
  }

  function find() {
    var wanted = byId("find").value.trim().toLowerCase();
    Array.prototype.forEach.call(byId("tables").children, function (item) {
      Shoe.flag(item, "hidden", item.getAttribute("data-find").indexOf(wanted) < 0);
    });
  }

  function show(lost) {
    Shoe.set(document.body, "data-why", lost.why);
    Shoe.set(document.body, "data-tables", lost.tables.length);
    Shoe.text(byId("title"), Shoe.word(TITLES[lost.why] || "page_not_found"));
    document.title = Shoe.word(TITLES[lost.why] || "page_not_found");
    Shoe.flag(byId("list-title"), "hidden", lost.why !== "not_found" || !lost.tables.length);
    Shoe.fill(byId("tables"), lost.tables.map(table));
    Shoe.flag(byId("nothing"), "hidden", lost.tables.length > 0 || lost.why === "full");
    Shoe.flag(byId("find-box"), "hidden", lost.tables.length <= MANY);
    Shoe.flag(byId("pit"), "hidden", !lost.pit);
    Shoe.set(byId("pit"), "href", Shoe.address(lost.pit || "/pit"));
    if (lost.why === "full" || !lost.tables.length) {
      // Who waits for room, or for the first table, need not ask again by hand.
      window.setTimeout(function () { window.location.reload(); }, 10000);
    }
  }

  Shoe.dress();
  byId("find").addEventListener("input", find);
  Shoe.first({ lost: show });
  Shoe.ready();
}());
