/*
 * The list of events, newest first; it does not move while somebody reads it.
 *
 * createEventLog(box, list, unreadButton)  box scrolls; list is its <ol>; the button shows the
 *                          number of unread events and scrolls to them. Each event is a
 *                          <li class="event"> with data-seq, data-type, data-round and, for
 *                          an irregularity, data-severity
 *     .replace(events, since)   all events known since then, oldest first: shown events stay,
 *                               unless events between may be missing
 *     .add(event)               one more event
 *     .count                    number of events shown
 */
import { el, setChildren, setClass, setText } from "./dom.js";
import * as format from "./format.js";
import { formatClock, word } from "./translations.js";

const MAX_EVENTS = 400;
const EVENT_CLASSES = {
  irregularity: "irregular",
  irregularity_closed: "closed",
  round_held: "held",
  round_released: "closed",
  round_voided: "held",
  round_aborted: "held",
  ruling_given: "held",
  staff_ruling_given: "held",
  card_corrected: "held",
  result_revised: "held",
  round_finished: "finished",
  shoe_started: "shoe",
  shoe_finished: "shoe"
};

function createLine(event) {
  const text = format.event(event);
  return el("li", {
    class: "event " + (EVENT_CLASSES[event.type] || "plain") +
      (text.side ? ` ${text.side}` : ""),
    "data-seq": event.seq,
    "data-type": event.type,
    "data-round": event.round,
    "data-severity": text.severity
  }, [
    el("time", { datetime: event.at, text: formatClock(event.at) }),
    el("div", { class: "said" }, [
      el("span", { class: "sentence" }, [
        text.severity ? el("b", { class: "grade", text: text.severity }) : null,
        text.text
      ]),
      text.more.map(more => el("span", { class: "more", text: more }))
    ]),
    el("span", {
      class: "number",
      text: event.round ? word("event_place", { round: event.round, seq: event.seq })
        : event.seq
    })
  ]);
}

export function createEventLog(box, list, unreadButton) {
  let newest = 0;
  let shown = {};
  let unread = 0;
  const self = { count: 0 };

  function scrolls() {
    return box.scrollHeight > box.clientHeight + 1 && window.innerWidth > 900;
  }

  function isReading() {
    return scrolls() ? box.scrollTop > 8 : list.getBoundingClientRect().top < 0;
  }

  function showUnread() {
    setClass(unreadButton, "hidden", unread === 0);
    setText(unreadButton, word("events_new", { count: unread }));
  }

  function resetUnread() {
    if (unread && !isReading()) {
      unread = 0;
      showUnread();
    }
  }

  function removeOldest() {
    while (list.children.length > MAX_EVENTS) {
      delete shown[list.lastChild.getAttribute("data-seq")];
      list.removeChild(list.lastChild);
    }
  }

  function insertOne(event) {
    let before = list.firstChild;
    while (before && Number(before.getAttribute("data-seq")) > event.seq) {
      before = before.nextSibling;
    }
    shown[event.seq] = true;
    list.insertBefore(createLine(event), before);
    newest = Math.max(newest, event.seq);
  }

  function insert(events, quiet) {
    const wasReading = isReading();
    const height = list.offsetHeight;
    const added = events.filter(event => !shown[event.seq]);
    added.forEach(insertOne);
    removeOldest();
    if (wasReading && !quiet) {
      unread += added.length;
      if (scrolls()) {
        box.scrollTop += list.offsetHeight - height;
      } else {
        window.scrollBy(0, list.offsetHeight - height);
      }
    }
    self.count = list.children.length;
    showUnread();
  }

  unreadButton.addEventListener("click", () => {
    box.scrollTop = 0;
    if (!scrolls()) {
      list.scrollIntoView();
    }
    unread = 0;
    showUnread();
  });
  box.addEventListener("scroll", resetUnread);
  window.addEventListener("scroll", resetUnread);
  function clear() {
    setChildren(list, null);
    shown = {};
    newest = 0;
    unread = 0;
  }

  self.replace = (events, since) => {
    const last = list.querySelector("time");
    if (last && since && new Date(since) > new Date(last.getAttribute("datetime"))) {
      clear();
    }
    insert(events, newest === 0);
  };
  self.add = event => insert([event], false);
  return self;
}
