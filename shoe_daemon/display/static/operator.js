/*
 * Who is logged in on this page, and the way of an order to its table.
 *
 * name          null while nobody is logged in
 * refused       why this page takes no PIN; null if it takes one
 * load(then)    asks the display who is logged in
 * logIn(name, pin, then)    then({}) or then({code, refused,
 *               detail_code, detail_values})
 * logOut(then)
 * may(verb)     whether the role of who is logged in has this order; true while
 *               nobody is
 * isSupervisor()            whether who is logged in is one
 * onChange(action)          action() after each log-in and log-out
 * createId()    a new id for an order
 * send(table, verb, order, then, unanswered)
 *               sends an order with its id, again and again until it is answered:
 *               the table carries it out once. then(outcome), the first time also
 *               after a while without an answer:
 *                   {reply}           the table's answer
 *                   {code, refused …} the display did not pass it on. Of an order
 *                                     that an earlier try may have brought to the
 *                                     table (unanswered: of an earlier call), this
 *                                     comes only where a log-in may help
 *                   {waiting: true}   nothing is known yet; then is called again
 *               Returns a function that stops asking
 */
import { page } from "./translations.js";

const RETRY_MS = 1500;
const REQUEST_MS = 10000;
const RELOAD_MS = 30000;
const LOG_IN_HELPS = { session: true, token: true, pin: true, role: true };
export let name = null;
export let refused = null;
let roles = [];
let csrf = "";
let sessions = 0;
const listeners = [];
let timer = null;

/* Not `fetch`, which refuses a page whose own address has a password. */
function request(method, path, body, then) {
  const asking = new XMLHttpRequest();
  asking.open(method, path);
  asking.timeout = REQUEST_MS;
  asking.responseType = "json";
  asking.setRequestHeader("Accept", "application/json");
  if (body) {
    asking.setRequestHeader("Content-Type", "application/json");
    asking.setRequestHeader("X-CSRF-Token", csrf);
  }
  asking.onload = () => then(asking.status, asking.response);
  asking.onerror = () => then(0, null);
  asking.ontimeout = () => then(0, null);
  asking.send(body ? JSON.stringify(body) : null);
}

/* A session that has ended is not shown as one. */
function loadAfter(delay) {
  window.clearTimeout(timer);
  timer = delay === null ? null : window.setTimeout(() => load(), delay);
}

function takeSession(answer) {
  sessions += 1;
  name = answer.operator || null;
  roles = answer.roles || [];
  refused = answer.refused || null;
  csrf = answer.csrf || "";
  loadAfter(name ? answer.ends_in_s * 1000 + 1000 : null);
  listeners.forEach(action => action());
}

export function onChange(action) {
  listeners.push(action);
}

export function load(then) {
  const before = sessions;
  request("GET", "/orders/session", null, (status, answer) => {
    // An answer from before a log-in may arrive after it.
    if (status === 200 && answer && sessions === before) {
      takeSession(answer);
    } else if (name && sessions === before) {
      loadAfter(RELOAD_MS);
    }
    if (then) {
      then();
    }
  });
}

export function logIn(name, pin, then) {
  request("POST", "/orders/session", { operator: name, pin }, (status, answer) => {
    if (status === 200 && answer) {
      takeSession(answer);
      then({});
    } else {
      then(answer && answer.code ? answer : { code: "lost" });
    }
  });
}

export function logOut(then) {
  request("POST", "/orders/log-out", {}, () => load(then));
  takeSession({});
}

export function may(verb) {
  const privileged = (page.order_verbs || {})[verb];
  return name === null || !privileged || isSupervisor();
}

export function isSupervisor() {
  return roles.includes("supervisor");
}

export function createId() {
  const bytes = window.crypto.getRandomValues(new Uint8Array(9));
  return `pit-${Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("")}`;
}

export function send(table, verb, order, then, unanswered) {
  const path = `/orders/${encodeURIComponent(table)}/${verb}`;
  let stopped = false;
  let mayBeDone = Boolean(unanswered);

  function isRefusal(answer) {
    return Boolean(answer && answer.code) && answer.code !== "no_reply" &&
      (!mayBeDone || LOG_IN_HELPS[answer.code] === true);
  }

  function ask() {
    request("POST", path, order, (status, answer) => {
      if (stopped) {
        return;
      }
      if (status === 200 && answer) {
        then({ reply: answer });
      } else if (isRefusal(answer)) {
        if (answer.code === "session") {
          takeSession({});
        }
        then(answer);
      } else {
        mayBeDone = !order.dry_run;
        then({ waiting: true });
        window.setTimeout(() => {
          if (!stopped) {
            ask();
          }
        }, RETRY_MS);
      }
    });
  }

  ask();
  return () => { stopped = true; };
}
