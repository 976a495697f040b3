/*
 * The event stream of a page, with detection of a lost display.
 *
 * openStream(url, handlers, onLost)
 *     handlers: {event name: function (document)}; every document is complete
 *     onLost(lost, since): true after 15 s without a heartbeat (`since` is the Date of the last
 *     event), false after the next event. The page reconnects for ever.
 * handleInitial(handlers)
 *     passes the documents of the data block to the handlers, before the first paint.
 *
 * An error in a handler is logged on the console and does not stop the page.
 */
import { autoReload } from "./auto_reload.js";
import { page } from "./translations.js";

const LOST_AFTER_MS = 15000;
const CHECK_INTERVAL_MS = 1000;
const REOPEN_AFTER_MS = 2000;

function handle(handlers, name, read) {
  try {
    handlers[name](read());
  } catch (error) {
    window.console.error(`The document ${name} cannot be shown: ${error}`);
  }
}

export function handleInitial(handlers) {
  const first = page.first || {};
  Object.keys(handlers).forEach(name => {
    if (Object.prototype.hasOwnProperty.call(first, name)) {
      handle(handlers, name, () => first[name]);
    }
  });
}

export function openStream(url, handlers, onLost) {
  let source = null;
  let lastEvent = Date.now();
  let openedAt = 0;
  let lost = false;

  function recordEvent() {
    lastEvent = Date.now();
    if (lost) {
      lost = false;
      onLost(false, null);
    }
  }

  function open() {
    if (source) {
      source.close();
    }
    openedAt = Date.now();
    source = new window.EventSource(url);
    Object.keys(handlers).concat(handlers.beat ? [] : ["beat"]).forEach(name => {
      source.addEventListener(name, message => {
        function read() {
          return JSON.parse(message.data);
        }
        recordEvent();
        if (handlers[name]) {
          handle(handlers, name, read);
        }
        if (name === "beat") {
          handle({ beat: autoReload }, name, read);
        }
      });
    });
  }

  function check() {
    // The clock may be set back.
    lastEvent = Math.min(lastEvent, Date.now());
    openedAt = Math.min(openedAt, Date.now());
    const silence = Date.now() - lastEvent;
    if (silence >= LOST_AFTER_MS && !lost) {
      lost = true;
      onLost(true, new Date(lastEvent));
    }
    // The browser reconnects by itself, but not after an error status or on a dead connection.
    if (source.readyState === 2 ? Date.now() - openedAt >= REOPEN_AFTER_MS
      : silence >= LOST_AFTER_MS && Date.now() - openedAt >= LOST_AFTER_MS) {
      open();
    }
  }

  open();
  window.setInterval(check, CHECK_INTERVAL_MS);
}
