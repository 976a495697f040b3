/*
 * The list of events, newest first; it does not move while somebody reads it.
 *
 * new EventLog(box, list, unreadButton)  box scrolls; list is its <ol>; the button shows the
 *                          number of unread events and scrolls to them. Each event is a
 *                          <li class="event"> with data-seq, data-type, data-round and, for
 *                          an irregularity, data-severity
 *     .replace(events, since)   all events known since then, oldest first: shown events stay,
 *                               unless events between may be missing
 *     .add(event)               one more event
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
    class: ["event", EVENT_CLASSES[event.type] || "plain", text.side].filter(Boolean).join(" "),
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
      text: event.round ? word("event_place", { round: event.round, seq: event.seq }) : event.seq
    })
  ]);
}

export class EventLog {
  constructor(box, list, unreadButton) {
    Object.assign(this, { box, list, unreadButton });
    this.clear();
    unreadButton.addEventListener("click", () => {
      box.scrollTop = 0;
      if (!this.scrolls()) {
        list.scrollIntoView();
      }
      this.setUnread(0);
    });
    box.addEventListener("scroll", () => this.resetUnread());
    window.addEventListener("scroll", () => this.resetUnread());
  }

  clear() {
    setChildren(this.list, null);
    this.shown = {};
    this.newest = 0;
    this.unread = 0;
  }

  scrolls() {
    return this.box.scrollHeight > this.box.clientHeight + 1 && window.innerWidth > 900;
  }

  isReading() {
    return this.scrolls() ? this.box.scrollTop > 8 : this.list.getBoundingClientRect().top < 0;
  }

  setUnread(count) {
    this.unread = count;
    setClass(this.unreadButton, "hidden", count === 0);
    setText(this.unreadButton, word("events_new", { count }));
  }

  resetUnread() {
    if (this.unread && !this.isReading()) {
      this.setUnread(0);
    }
  }

  removeOldest() {
    while (this.list.children.length > MAX_EVENTS) {
      delete this.shown[this.list.lastChild.getAttribute("data-seq")];
      this.list.lastChild.remove();
    }
  }

  insertOne(event) {
    let before = this.list.firstChild;
    while (before && Number(before.getAttribute("data-seq")) > event.seq) {
      before = before.nextSibling;
    }
    this.shown[event.seq] = true;
    this.list.insertBefore(createLine(event), before);
    this.newest = Math.max(this.newest, event.seq);
  }

  insert(events, quiet) {
    const countsUnread = this.isReading() && !quiet;
    const height = this.list.offsetHeight;
    const added = events.filter(event => !this.shown[event.seq]);
    added.forEach(event => this.insertOne(event));
    this.removeOldest();
    if (countsUnread && this.scrolls()) {
      this.box.scrollTop += this.list.offsetHeight - height;
    } else if (countsUnread) {
      window.scrollBy(0, this.list.offsetHeight - height);
    }
    this.setUnread(this.unread + (countsUnread ? added.length : 0));
  }

  replace(events, since) {
    const last = this.list.querySelector("time");
    if (last && since && new Date(since) > new Date(last.getAttribute("datetime"))) {
      this.clear();
    }
    this.insert(events, this.newest === 0);
  }

  add(event) {
    this.insert([event], false);
  }
}
