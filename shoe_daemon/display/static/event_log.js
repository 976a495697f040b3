/*
 * The list of events, the newest on top, which does not move while somebody reads it.
 *
 * Shoe.eventLog(box, list, fresh)  box scrolls; list is its <ol>; fresh is the button that tells how
 *                               many came meanwhile and goes to them. Each event is a
 *                               <li class="event"> with data-seq, data-type, data-round and, for
 *                               an irregularity, data-severity
 *     .whole(events, since)     all that is known since then, oldest first: what is there already
 *                               stays, unless something between may have been missed
 *     .add(event)               one more
 *     .count                    how many are shown
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var MOST = 400;
  var LOUD = {
    irregularity: "irregular",
    irregularity_closed: "closed",
    round_held: "held",
    round_released: "closed",
    round_voided: "held",
    round_aborted: "held",
    card_corrected: "held",
    result_revised: "held",
    round_finished: "finished",
    shoe_started: "shoe",
    shoe_finished: "shoe"
  };

  function line(event) {
    var said = Shoe.format.event(event);
    return Shoe.el("li", {
      "class": "event " + (LOUD[event.type] || "plain") + (said.side ? " " + said.side : ""),
      "data-seq": event.seq,
      "data-type": event.type,
      "data-round": event.round,
      "data-severity": said.severity
    }, [
      Shoe.el("time", { datetime: event.at, text: Shoe.formatClock(event.at) }),
      Shoe.el("div", { "class": "said" }, [
        Shoe.el("span", { "class": "sentence" }, [
          said.severity ? Shoe.el("b", { "class": "grade", text: said.severity }) : null,
          said.text
        ]),
        said.more.map(function (more) {
          return Shoe.el("span", { "class": "more", text: more });
        })
      ]),
      Shoe.el("span", {
        "class": "number",
        text: event.round ? Shoe.word("event_place", { round: event.round, seq: event.seq })
          : event.seq
      })
    ]);
  }

  Shoe.eventLog = function (box, list, fresh) {
    var newest = 0;
    var seen = {};
    var unread = 0;
    var self = { count: 0 };

    function scrolls() {
      return box.scrollHeight > box.clientHeight + 1 && window.innerWidth > 900;
    }

    function reads() {
      return scrolls() ? box.scrollTop > 8 : list.getBoundingClientRect().top < 0;
    }

    function tell() {
      Shoe.setClass(fresh, "hidden", unread === 0);
      Shoe.setText(fresh, Shoe.word("events_new", { count: unread }));
    }

    function up() {
      if (unread && !reads()) {
        unread = 0;
        tell();
      }
    }

    function prune() {
      while (list.children.length > MOST) {
        delete seen[list.lastChild.getAttribute("data-seq")];
        list.removeChild(list.lastChild);
      }
    }

    function put(event) {
      var before = list.firstChild;
      while (before && Number(before.getAttribute("data-seq")) > event.seq) {
        before = before.nextSibling;
      }
      seen[event.seq] = true;
      list.insertBefore(line(event), before);
      newest = Math.max(newest, event.seq);
    }

    function insert(events, quietly) {
      var reading = reads();
      var height = list.offsetHeight;
      var news = events.filter(function (event) { return !seen[event.seq]; });
      news.forEach(put);
      prune();
      if (reading && !quietly) {
        unread += news.length;
        if (scrolls()) {
          box.scrollTop += list.offsetHeight - height;
        } else {
          window.scrollBy(0, list.offsetHeight - height);
        }
      }
      self.count = list.children.length;
      tell();
    }

    fresh.addEventListener("click", function () {
      box.scrollTop = 0;
      if (!scrolls()) {
        list.scrollIntoView();
      }
      unread = 0;
      tell();
    });
    box.addEventListener("scroll", up);
    window.addEventListener("scroll", up);
    function forget() {
      Shoe.setChildren(list, null);
      seen = {};
      newest = 0;
      unread = 0;
    }

    self.whole = function (events, since) {
      var last = list.querySelector("time");
      if (last && since && new Date(since) > new Date(last.getAttribute("datetime"))) {
        forget();
      }
      insert(events, newest === 0);
    };
    self.add = function (event) { insert([event], false); };
    return self;
  };
}());
