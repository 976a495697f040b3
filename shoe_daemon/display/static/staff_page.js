/*
 * What the pages for staff have in common.
 *
 * Shoe.fillWords()                fills in the words of the page: [data-word] its text, [data-label]
 *                             its aria-label; sets the title from <title data-word>; and the
 *                             languages into #languages; [data-href] its address in this language
 * Shoe.pageUrl(path)          the path in the language and the signs of this page
 * Shoe.showPage()                all is there: the page is seen (its body was `waiting`)
 * Shoe.togglePanel(button, panel)   the button opens and closes the panel (aria-expanded); Esc, or a
 *                             click elsewhere, closes it
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  function each(selector, act) {
    Array.prototype.forEach.call(document.querySelectorAll(selector), act);
  }

  Shoe.pageUrl = function (path) {
    var kept = window.location.search.match(/(lang|glyphs)=[a-z-]+/g);
    return path + (kept ? "?" + kept.join("&") : "");
  };

  function inLanguage(code) {
    var glyphs = window.location.search.match(/glyphs=[a-z]+/);
    return window.location.pathname + "?lang=" + code + (glyphs ? "&" + glyphs[0] : "");
  }

  function languages(place) {
    (Shoe.page().languages || []).forEach(function (language) {
      place.appendChild(Shoe.el("a", {
        href: inLanguage(language[0]),
        lang: language[0],
        text: language[1],
        "aria-current": language[0] === Shoe.page().language ? "true" : null
      }));
    });
  }

  Shoe.fillWords = function () {
    each("[data-word]", function (node) {
      Shoe.setText(node, Shoe.word(node.getAttribute("data-word")));
    });
    each("[data-label]", function (node) {
      Shoe.setAttribute(node, "aria-label", Shoe.word(node.getAttribute("data-label")));
    });
    each("[data-href]", function (node) {
      Shoe.setAttribute(node, "href", Shoe.pageUrl(node.getAttribute("data-href")));
    });
    if (Shoe.byId("languages")) {
      languages(Shoe.byId("languages"));
    }
  };

  Shoe.showPage = function () {
    Shoe.setClass(document.body, "waiting", false);
  };

  Shoe.togglePanel = function (button, panel) {
    function open(is) {
      Shoe.setClass(panel, "hidden", !is);
      Shoe.setAttribute(button, "aria-expanded", is ? "true" : "false");
    }

    button.addEventListener("click", function () {
      open(button.getAttribute("aria-expanded") !== "true");
    });
    document.addEventListener("click", function (event) {
      if (!panel.contains(event.target) && !button.contains(event.target)) {
        open(false);
      }
    });
    document.addEventListener("keydown", function (event) {
      if (event.keyCode === 27 && button.getAttribute("aria-expanded") === "true") {
        open(false);
        button.focus();
      }
    });
    open(false);
  };
}());
