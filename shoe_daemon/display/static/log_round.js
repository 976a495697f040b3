/*
 * One round of the log: its cards, every event, and who decided what.
 *
 * Document `round`: {"table", "name", "shoe", "round", "zone", "failed", "found"}; `found` is null
 * for an unknown round. There is no stream.
 *
 * For tests: body data-round, data-known; #hand-player > span, #hand-banker > span with data-card;
 * #clips > figure with data-clip, data-state; #pictures > figure; #everything;
 * #entries tbody > tr, see log_rows.js; #log-events tbody > tr with data-seq, data-type
 */
import { drawCard } from "./card_drawing.js";
import { byId, el, setAttribute, setChildren, setClass, setText } from "./dom.js";
import { handleInitial } from "./event_stream.js";
import * as format from "./format.js";
import * as logRows from "./log_rows.js";
import { fillWords, pageUrl, showPage } from "./staff_page.js";
import { formatDuration } from "./ticking_age.js";
import { formatNumber, hasWord, word } from "./translations.js";

const CLIP_WARNINGS = { changed: "log_clip_changed", unreadable: "log_clip_unreadable" };

function createCards(cards) {
  return cards.map(card => el("span", { class: "big-card", "data-card": card }, drawCard(card)));
}

function createEvent(event) {
  const text = format.event(event);
  return el("tr", {
    class: (text.side || "") + (text.severity ? " irregular" : ""),
    "data-seq": event.seq,
    "data-type": event.type
  }, [
    el("td", { class: "at" }, el("time", {
      datetime: event.time.replace(" ", "T"), text: event.time.slice(11)
    })),
    el("td", { class: "said" }, [
      text.severity ? el("b", { class: "grade", "data-severity": text.severity,
        text: text.severity }) : null,
      el("span", { class: "sentence", text: text.text }),
      text.more.map(more => el("span", { class: "more", text: more }))
    ]),
    el("td", { class: "seq", text: event.seq })
  ]);
}

function setNeighbour(id, page, number) {
  setClass(byId(id), "hidden", number === null);
  if (number !== null) {
    setAttribute(byId(id), "href",
      logRows.roundUrl({ table: page.table, shoe: page.shoe, round: number }));
  }
}

function fileUrl(name) {
  return `${window.location.pathname}/${encodeURIComponent(name)}`;
}

/* "P1-AS" is a place and a card; both may be missing. */
function pictureText(what) {
  return what.split("-").map(part =>
    hasWord(`slot_${part}`) ? format.place(part)
      : /^(10|[2-9AJQK])[SHDC]$/.test(part) ? format.card(part) : part).join(" · ");
}

function createPicture(picture) {
  const text = pictureText(picture.what);
  return el("figure", {}, [
    el("img", {
      src: fileUrl(picture.name),
      alt: text
    }),
    el("figcaption", {}, [el("b", { text }), " ", picture.time.slice(11)])
  ]);
}

/* The time of another day has its date. */
function clipTime(clip, day) {
  return clip.time.slice(0, 10) === day ? clip.time.slice(11) : clip.time;
}

function createClipScreen(clip, label) {
  if (clip.state === "intact") {
    return el("video", {
      src: fileUrl(clip.name),
      controls: "",
      preload: "metadata",
      playsinline: "",
      "aria-label": label
    });
  }
  return el("p", { class: "warning", text: word(CLIP_WARNINGS[clip.state]) });
}

function createClip(clip, day) {
  const length = formatDuration(clip.seconds * 1000);
  const time = clipTime(clip, day);
  return el("figure", { "data-clip": clip.name, "data-state": clip.state }, [
    el("div", { class: "screen" }, createClipScreen(clip, `${clip.witness}, ${time}, ${length}`)),
    el("figcaption", {}, [
      el("b", { text: clip.witness }),
      el("time", { datetime: clip.time.replace(" ", "T"), text: time }),
      el("span", { class: "length", text: length }),
      clip.state === "unreadable" ? null : el("a", {
        class: "download", href: fileUrl(clip.name), download: clip.name,
        text: word("log_download")
      })
    ])
  ]);
}

function showClips(found) {
  const day = found.time.slice(0, 10);
  setClass(byId("clip-evidence"), "hidden", !found.clips.length);
  setChildren(byId("clips"), found.clips.map(clip => createClip(clip, day)));
  setClass(byId("clips-left-out"), "hidden", !found.clips_left_out);
  setText(byId("clips-left-out"), word("log_clips_left_out", { count: found.clips_left_out }));
}

function timesText(found) {
  return found.time + (found.ended ? ` – ${found.ended.slice(11)}` : "");
}

function showRound(page, found) {
  const tables = [{ key: found.table, name: page.name }];
  logRows.setNames(tables);
  ["player", "banker"].forEach(side => {
    setText(byId(`total-${side}`), formatNumber(found[`${side}_total`]));
    setChildren(byId(`hand-${side}`), createCards(found[side]));
  });
  setChildren(byId("outcome"), logRows.outcome(found));
  setChildren(byId("marks"), logRows.marks(found.marks));
  setText(byId("times"), timesText(found));
  setClass(byId("no-entries"), "hidden", found.entries.length > 0);
  setChildren(byId("entries"), found.entries.length ? logRows.entryTable(found.entries) : null);
  showClips(found);
  setChildren(byId("exports"), el("a", {
    id: "everything", class: "button", href: `${window.location.pathname}/everything.zip`,
    download: "", text: word("log_everything")
  }));
  setClass(byId("evidence"), "hidden", !found.pictures.length);
  setChildren(byId("pictures"), found.pictures.map(createPicture));
  setChildren(byId("log-events"), el("tbody", {}, found.events.map(createEvent)));
  setNeighbour("before", page, found.before);
  setNeighbour("after", page, found.after);
}

function take(page) {
  const where = word("shoe_round", { shoe: page.shoe, round: page.round });
  setText(byId("name"), page.name);
  setText(byId("where"), where);
  document.title = `${page.name} – ${where}`;
  setAttribute(document.body, "data-round", page.round);
  setAttribute(document.body, "data-known", String(Boolean(page.found)));
  setAttribute(byId("to-log"), "href", pageUrl("/pit/log"));
  setText(byId("zone"), word("log_zone", { zone: page.zone }));
  setClass(byId("content"), "hidden", !page.found);
  setClass(byId("unknown"), "hidden", Boolean(page.found));
  setText(byId("unknown"), word(page.failed ? `log_failed_${page.failed}` : "log_round_unknown"));
  if (page.found) {
    showRound(page, page.found);
  } else {
    setNeighbour("before", page, null);
    setNeighbour("after", page, null);
  }
}

fillWords();
handleInitial({ round: take });
showPage();
