/*
 * Reloads a page that is older than the display, after an upgrade.
 *
 * autoReload(beat)   receives every heartbeat; if its `version` differs from that of the
 *               page's data block, the page reloads within some seconds: not all pages at
 *               once, and only if the display serves a page of the new version. A page in use
 *               or with an open order does not reload, nor a page with sound: browsers mute a
 *               page until the next click.
 *
 * A page reloads at most once a day for each version, and never if the browser cannot store that
 * it did: so there is no loop, whatever proxy is between the page and the display.
 */
import { page } from "./translations.js";

const STORAGE_KEY = "shoe-renewed";
const DAY_MS = 86400000;
const IDLE_AFTER_MS = 60000;
const SPREAD_MS = 3000;
const RETRY_MS = 30000;
const INPUT_TAGS = /^(?:INPUT|SELECT|TEXTAREA)$/;

let lastInput = -Infinity;
let newVersion = null;
let scheduled = false;

function isInUse() {
  const focused = document.activeElement;
  return Date.now() - lastInput < IDLE_AFTER_MS ||
    document.querySelector("[data-sound=on]") !== null ||
    document.body.classList.contains("behind") ||
    focused !== null && INPUT_TAGS.test(focused.tagName) && focused.value !== "";
}

/* Time of the last reload for each version; entries older than a day are removed. */
function reloadTimes() {
  const found = JSON.parse(window.sessionStorage.getItem(STORAGE_KEY) || "{}");
  Object.keys(found).forEach(version => {
    if (Date.now() - found[version] > DAY_MS) {
      delete found[version];
    }
  });
  return found;
}

function mayReload(version) {
  try {
    return !reloadTimes()[version];
  } catch {
    return false;
  }
}

function recordReload(version) {
  try {
    const found = reloadTimes();
    found[version] = Date.now();
    window.sessionStorage.setItem(STORAGE_KEY, JSON.stringify(found));
    return !mayReload(version);
  } catch {
    return false;
  }
}

function schedule(action, after) {
  scheduled = true;
  window.setTimeout(() => {
    scheduled = false;
    action();
  }, after);
}

/* Not `fetch`, which refuses a page whose own address has a password. */
function reloadIfServed(version) {
  const request = new window.XMLHttpRequest();
  request.onload = () => {
    const served = request.responseText.includes(`"version":"${version}"`);
    if (request.status === 200 && served && version === newVersion && !isInUse() &&
        recordReload(version)) {
      window.location.reload();
    }
  };
  request.open("GET", window.location.href.replace(/#.*/, ""));
  request.send();
}

function tryReload() {
  if (newVersion !== null && !isInUse() && mayReload(newVersion)) {
    reloadIfServed(newVersion);
    schedule(() => {}, RETRY_MS);
  }
}

export function autoReload(beat) {
  const first = page.first;
  const own = first && first.beat && first.beat.version;
  newVersion = own && beat.version && beat.version !== own ? beat.version : null;
  if (newVersion !== null && !scheduled) {
    schedule(tryReload, Math.random() * SPREAD_MS);
  }
}

["mousedown", "touchstart", "keydown", "wheel"].forEach(name => {
  document.addEventListener(name, () => { lastInput = Date.now(); }, true);
});
