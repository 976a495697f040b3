/*
 * What the pages of the pit, the history and the list of tables have in common.
 *
 * Shoe.fillWords()            sets the words of the page: [data-word] the text, [data-label] the
 *                             aria-label, [data-href] an address in this language; and adds the
 *                             languages to #languages
 * Shoe.pageUrl(path)          the path with the language and the glyphs of this page
 * Shoe.addParameter(url, name, value)   the address with one more parameter
 * Shoe.showPage()             shows the page, which is hidden (class `waiting`) until it is built
 * Shoe.togglePanel(button, panel)   lets the button open and close the panel (aria-expanded); Esc
 *                             or a click elsewhere closes it
 * Shoe.showNotifierFaults(banner, faults)   shows why people are not notified; [] hides the banner
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var MAX_FAULTS = 3;

  function forEachNode(selector, action) {
    Array.prototype.forEach.call(document.querySelectorAll(selector), action);
  }

  Shoe.pageUrl = function (path) {
    var kept = window.location.search.match(/(lang|glyphs)=[a-z-]+/g);
    return path + (kept ? "?" + kept.join("&") : "");
  };

  Shoe.addParameter = function (url, name, value) {
    return url + (url.indexOf("?") < 0 ? "?" : "&") + name + "=" + encodeURIComponent(value);
  };

  function urlInLanguage(code) {
    var kept = window.location.search.slice(1).split("&").filter(function (part) {
      return part && !/^lang=/.test(part);
    });
    return window.location.pathname + "?" + ["lang=" + code].concat(kept).join("&");
  }

  function addLanguages(place) {
    (Shoe.page().languages || []).forEach(function (language) {
      place.appendChild(Shoe.el("a", {
        href: urlInLanguage(language[0]),
        lang: language[0],
        text: language[1],
        "aria-current": language[0] === Shoe.page().language ? "true" : null
      }));
    });
  }

  Shoe.fillWords = function () {
    forEachNode("[data-word]", function (node) {
      Shoe.setText(node, Shoe.word(node.getAttribute("data-word")));
    });
    forEachNode("[data-label]", function (node) {
      Shoe.setAttribute(node, "aria-label", Shoe.word(node.getAttribute("data-label")));
    });
    forEachNode("[data-href]", function (node) {
      Shoe.setAttribute(node, "href", Shoe.pageUrl(node.getAttribute("data-href")));
    });
    if (Shoe.byId("languages")) {
      addLanguages(Shoe.byId("languages"));
    }
  };

  Shoe.showPage = function () {
    Shoe.setClass(document.body, "waiting", false);
  };

  function notifierFaultText(fault) {
    var time = fault.since && Shoe.formatClock(fault.since);
    if (fault.recipient === null) {
      return Shoe.word(time ? "notify_off_since" : "notify_off",
        { notifier: fault.notifier, time: time });
    }
    return Shoe.word("notify_fails", {
      recipient: fault.recipient,
      time: time || "–",
      attempt: fault.attempts,
      reason: Shoe.hasWord(fault.detail_code) ? Shoe.word(fault.detail_code, fault.detail_values)
        : fault.detail
    });
  }

  Shoe.showNotifierFaults = function (banner, faults) {
    Shoe.setClass(banner, "hidden", !faults.length);
    Shoe.setAttribute(document.body, "data-notify", faults.length ? "fails" : null);
    Shoe.fillOnChange(banner, JSON.stringify(faults), function () {
      return faults.slice(0, MAX_FAULTS).map(function (fault) {
        return Shoe.el("p", { text: notifierFaultText(fault) });
      }).concat(faults.length > MAX_FAULTS ? Shoe.el("p", {
        text: Shoe.word("sheet_left_out", { count: faults.length - MAX_FAULTS })
      }) : []);
    });
  };

  Shoe.togglePanel = function (button, panel) {
    function setOpen(isOpen) {
      Shoe.setClass(panel, "hidden", !isOpen);
      Shoe.setAttribute(button, "aria-expanded", isOpen ? "true" : "false");
    }

    button.addEventListener("click", function () {
      setOpen(button.getAttribute("aria-expanded") !== "true");
    });
    document.addEventListener("click", function (event) {
      if (!panel.contains(event.target) && !button.contains(event.target)) {
        setOpen(false);
      }
    });
    document.addEventListener("keydown", function (event) {
      if (event.keyCode === 27 && button.getAttribute("aria-expanded") === "true") {
        setOpen(false);
        button.focus();
      }
    });
    setOpen(false);
  };
}());
