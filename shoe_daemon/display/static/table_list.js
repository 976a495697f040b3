/*
 * The list of tables: the page of `/` and of every unknown address.
 *
 * Document `table_list`: {"why": "home" | "not_found" | "ambiguous" | "full", "tables": [{"key",
 * "name", "url"}], "pit": url or null}. There is no stream.
 *
 * For tests: body data-why, data-tables; #tables > li with data-key; #find filters them.
 */
import { byId, el, setAttribute, setChildren, setClass, setText } from "./dom.js";
import { handleInitial } from "./event_stream.js";
import { fillWords, pageUrl, showPage } from "./staff_page.js";
import { word } from "./translations.js";

const SHOW_FILTER_ABOVE = 12;
const TITLES = {
  home: "table_list",
  not_found: "page_not_found",
  ambiguous: "lost_ambiguous",
  full: "lost_full"
};

function createItem(each) {
  return el("li", {
    "data-key": each.key,
    "data-find": `${each.name} ${each.key}`.toLowerCase()
  }, [
    el("a", { class: "to-board", href: pageUrl(each.url) }, [
      el("b", { text: each.name }),
      el("span", { class: "key", text: each.key.replace(".", " / ") })
    ]),
    el("a", {
      class: "to-history",
      href: pageUrl(`${each.url}/history`),
      "aria-label": `${word("history")}: ${each.name}`,
      text: word("history")
    })
  ]);
}

function applyFilter() {
  const wanted = byId("find").value.trim().toLowerCase();
  Array.from(byId("tables").children).forEach(item => {
    setClass(item, "hidden", !item.getAttribute("data-find").includes(wanted));
  });
}

function showTables(data) {
  setAttribute(document.body, "data-why", data.why);
  setAttribute(document.body, "data-tables", data.tables.length);
  setText(byId("title"), word(TITLES[data.why] || "page_not_found"));
  document.title = word(TITLES[data.why] || "page_not_found");
  setClass(byId("list-title"), "hidden", data.why !== "not_found" || !data.tables.length);
  setChildren(byId("tables"), data.tables.map(createItem));
  setClass(byId("nothing"), "hidden", data.tables.length > 0 || data.why === "full");
  setClass(byId("find-box"), "hidden", data.tables.length <= SHOW_FILTER_ABOVE);
  setClass(byId("pit"), "hidden", !data.pit);
  setAttribute(byId("pit"), "href", pageUrl(data.pit || "/pit"));
  if (data.why === "full" || !data.tables.length) {
    // Without tables, or without a free stream, the page tries again.
    window.setTimeout(() => window.location.reload(), 10000);
  }
}

fillWords();
byId("find").addEventListener("input", applyFilter);
handleInitial({ table_list: showTables });
showPage();
