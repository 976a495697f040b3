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
(function () {
  "use strict";

  var byId = Shoe.byId;
  var CLIP_WARNINGS = { changed: "log_clip_changed", unreadable: "log_clip_unreadable" };

  function createCards(cards) {
    return cards.map(function (card) {
      return Shoe.el("span", { "class": "big-card", "data-card": card }, Shoe.drawCard(card));
    });
  }

  function createEvent(event) {
    var text = Shoe.format.event(event);
    return Shoe.el("tr", {
      "class": (text.side || "") + (text.severity ? " irregular" : ""),
      "data-seq": event.seq,
      "data-type": event.type
    }, [
      Shoe.el("td", { "class": "at" }, Shoe.el("time", {
        datetime: event.time.replace(" ", "T"), text: event.time.slice(11)
      })),
      Shoe.el("td", { "class": "said" }, [
        text.severity ? Shoe.el("b", { "class": "grade", "data-severity": text.severity,
          text: text.severity }) : null,
        Shoe.el("span", { "class": "sentence", text: text.text }),
        text.more.map(function (more) {
          return Shoe.el("span", { "class": "more", text: more });
        })
      ]),
      Shoe.el("td", { "class": "seq", text: event.seq })
    ]);
  }

  function setNeighbour(id, page, number) {
    Shoe.setClass(byId(id), "hidden", number === null);
    if (number !== null) {
      Shoe.setAttribute(byId(id), "href",
        Shoe.logRows.roundUrl({ table: page.table, shoe: page.shoe, round: number }));
    }
  }

  function fileUrl(name) {
    return window.location.pathname + "/" + encodeURIComponent(name);
  }

  /* "P1-AS" is a place and a card; both may be missing. */
  function pictureText(what) {
    return what.split("-").map(function (part) {
      return Shoe.hasWord("slot_" + part) ? Shoe.format.place(part)
        : /^(10|[2-9AJQK])[SHDC]$/.test(part) ? Shoe.format.card(part) : part;
    }).join(" · ");
  }

  function createPicture(picture) {
    var text = pictureText(picture.what);
    return Shoe.el("figure", {}, [
      Shoe.el("img", {
        src: fileUrl(picture.name),
        alt: text
      }),
      Shoe.el("figcaption", {}, [Shoe.el("b", { text: text }), " ", picture.time.slice(11)])
    ]);
  }

  /* The time of another day has its date. */
  function clipTime(clip, day) {
    return clip.time.slice(0, 10) === day ? clip.time.slice(11) : clip.time;
  }

  function createClipScreen(clip, label) {
    if (clip.state === "intact") {
      return Shoe.el("video", {
        src: fileUrl(clip.name),
        controls: "",
        preload: "metadata",
        playsinline: "",
        "aria-label": label
      });
    }
    return Shoe.el("p", { "class": "warning", text: Shoe.word(CLIP_WARNINGS[clip.state]) });
  }

  function createClip(clip, day) {
    var length = Shoe.formatDuration(clip.seconds * 1000);
    var time = clipTime(clip, day);
    return Shoe.el("figure", { "data-clip": clip.name, "data-state": clip.state }, [
      Shoe.el("div", { "class": "screen" },
        createClipScreen(clip, clip.witness + ", " + time + ", " + length)),
      Shoe.el("figcaption", {}, [
        Shoe.el("b", { text: clip.witness }),
        Shoe.el("time", { datetime: clip.time.replace(" ", "T"), text: time }),
        Shoe.el("span", { "class": "length", text: length }),
        clip.state === "unreadable" ? null : Shoe.el("a", {
          "class": "download", href: fileUrl(clip.name), download: clip.name,
          text: Shoe.word("log_download")
        })
      ])
    ]);
  }

  function showClips(found) {
    var day = found.time.slice(0, 10);
    Shoe.setClass(byId("clip-evidence"), "hidden", !found.clips.length);
    Shoe.setChildren(byId("clips"), found.clips.map(function (clip) {
      return createClip(clip, day);
    }));
    Shoe.setClass(byId("clips-left-out"), "hidden", !found.clips_left_out);
    Shoe.setText(byId("clips-left-out"),
      Shoe.word("log_clips_left_out", { count: found.clips_left_out }));
  }

  function timesText(found) {
    return found.time + (found.ended ? " – " + found.ended.slice(11) : "");
  }

  function showRound(page, found) {
    var tables = [{ key: found.table, name: page.name }];
    Shoe.logRows.setNames(tables);
    ["player", "banker"].forEach(function (side) {
      Shoe.setText(byId("total-" + side), Shoe.formatNumber(found[side + "_total"]));
      Shoe.setChildren(byId("hand-" + side), createCards(found[side]));
    });
    Shoe.setChildren(byId("outcome"), Shoe.logRows.outcome(found));
    Shoe.setChildren(byId("marks"), Shoe.logRows.marks(found.marks));
    Shoe.setText(byId("times"), timesText(found));
    Shoe.setClass(byId("no-entries"), "hidden", found.entries.length > 0);
    Shoe.setChildren(byId("entries"),
      found.entries.length ? Shoe.logRows.entryTable(found.entries) : null);
    showClips(found);
    Shoe.setChildren(byId("exports"), Shoe.el("a", {
      id: "everything", "class": "button", href: window.location.pathname + "/everything.zip",
      download: "", text: Shoe.word("log_everything")
    }));
    Shoe.setClass(byId("evidence"), "hidden", !found.pictures.length);
    Shoe.setChildren(byId("pictures"), found.pictures.map(createPicture));
    Shoe.setChildren(byId("log-events"), Shoe.el("tbody", {}, found.events.map(createEvent)));
    setNeighbour("before", page, found.before);
    setNeighbour("after", page, found.after);
  }

  function take(page) {
    var where = Shoe.word("shoe_round", { shoe: page.shoe, round: page.round });
    Shoe.setText(byId("name"), page.name);
    Shoe.setText(byId("where"), where);
    document.title = page.name + " – " + where;
    Shoe.setAttribute(document.body, "data-round", page.round);
    Shoe.setAttribute(document.body, "data-known", String(Boolean(page.found)));
    Shoe.setAttribute(byId("to-log"), "href", Shoe.pageUrl("/pit/log"));
    Shoe.setText(byId("zone"), Shoe.word("log_zone", { zone: page.zone }));
    Shoe.setClass(byId("content"), "hidden", !page.found);
    Shoe.setClass(byId("unknown"), "hidden", Boolean(page.found));
    Shoe.setText(byId("unknown"),
      Shoe.word(page.failed ? "log_failed_" + page.failed : "log_round_unknown"));
    if (page.found) {
      showRound(page, page.found);
    } else {
      setNeighbour("before", page, null);
      setNeighbour("after", page, null);
    }
  }

  Shoe.fillWords();
  Shoe.handleInitial({ round: take });
  Shoe.showPage();
}());
