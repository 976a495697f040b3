/*
 * The server's clock, and ages that count up.
 *
 * syncClock(rfc3339)       sets the server's time; ages use it, since the clock of a kiosk is
 *                          often wrong
 * formatDuration(milliseconds)  "0:07", "12:40", "3:05:00", "2 d", in any language
 * showAge(node, rfc3339)   shows the age of that time in the node, updated every second until
 *                          another time is set, or null, or the node is removed from the
 *                          page; `data-ticking` is the time
 */
import { setAttribute, setText } from "./dom.js";

const SECOND_MS = 1000;
const DAY_MS = 86400000;
const MAX_MISSED_TICKS = 60;
const MAX_LEAD_ERROR_MS = 30000;
let serverLead = 0;
let synced = false;
let nodes = [];

function twoDigits(number) {
  return String(number).padStart(2, "0");
}

export function syncClock(time) {
  const now = new Date(time).getTime();
  const lead = now - Date.now();
  if (isNaN(now)) {
    return;
  }
  // A delay makes the server look slow: a larger lead counts at once, a smaller one little.
  serverLead = !synced || lead > serverLead || serverLead - lead > MAX_LEAD_ERROR_MS
    ? lead : serverLead + (lead - serverLead) / 8;
  synced = true;
}

/* Milliseconds since then, at least 0; null for null. */
function age(time) {
  const then = time ? new Date(time).getTime() : NaN;
  return isNaN(then) ? null : Math.max(0, Date.now() + serverLead - then);
}

export function formatDuration(milliseconds) {
  const seconds = Math.floor(milliseconds / SECOND_MS);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  if (milliseconds === null || isNaN(seconds)) {
    return "–";
  }
  if (milliseconds >= DAY_MS) {
    return `${Math.floor(milliseconds / DAY_MS)} d`;
  }
  return hours > 0
    ? `${hours}:${twoDigits(minutes)}:${twoDigits(seconds % 60)}`
    : `${minutes}:${twoDigits(seconds % 60)}`;
}

function update(node) {
  setText(node, formatDuration(age(node.getAttribute("data-ticking"))));
}

export function showAge(node, time) {
  setAttribute(node, "data-ticking", time);
  if (!time) {
    setText(node, "");
    return node;
  }
  if (!nodes.includes(node)) {
    nodes.push(node);
    node.shoeMissed = 0;
  }
  update(node);
  return node;
}

function tick() {
  nodes = nodes.filter(node => {
    // A node may be created some time before it is added to the page.
    node.shoeMissed = document.body.contains(node) ? 0 : node.shoeMissed + 1;
    return node.hasAttribute("data-ticking") && node.shoeMissed < MAX_MISSED_TICKS;
  });
  nodes.forEach(update);
}

window.setInterval(tick, SECOND_MS);
