/*
 * The sound of alerts in the pit: two or three soft tones, generated, without a file.
 *
 * alertSound(button) makes the button the switch. Off by default; the setting is stored on
 *                    this computer. Browsers play no sound before a click or a key: until
 *                    then data-sound is "blocked", and the button says so. data-sound is on,
 *                    off, blocked, or none without WebAudio or if the data block says
 *                    `sound: false`.
 *     .alert(severity)    plays for a new alert: once for 1 and 2; for 3 and more again after 15,
 *                         30 and 60 seconds, until somebody touches the page, or `quiet`
 *     .quiet()            cancels the repetitions
 *     .played             number of sounds played, for tests: also the button's data-played
 */
import { setAttribute, setClass, setText } from "./dom.js";
import { page, word } from "./translations.js";

const STORAGE_KEY = "shoe-sound";
const REPEAT_AFTER_MS = [15000, 30000, 60000];
const GENTLE_TONES = [[880, 0, 0.22], [1174.7, 0.16, 0.34]];
const URGENT_TONES = [[987.8, 0, 0.16], [740, 0.18, 0.16], [987.8, 0.36, 0.16], [740, 0.54, 0.3]];

function loadSetting() {
  try {
    return window.localStorage.getItem(STORAGE_KEY) === "on";
  } catch {
    return false;
  }
}

function storeSetting(on) {
  try {
    window.localStorage.setItem(STORAGE_KEY, on ? "on" : "off");
  } catch {
    // Without storage the setting is lost with the next load.
  }
}

function playTone(context, note, loud) {
  const at = context.currentTime + 0.03 + note[1];
  const source = context.createOscillator();
  const volume = context.createGain();
  source.type = "triangle";
  source.frequency.value = note[0];
  // Fade in and out: a tone that is cut off clicks.
  volume.gain.setValueAtTime(0.0001, at);
  volume.gain.exponentialRampToValueAtTime(loud, at + 0.02);
  volume.gain.exponentialRampToValueAtTime(0.0001, at + note[2]);
  source.connect(volume);
  volume.connect(context.destination);
  source.start(at);
  source.stop(at + note[2] + 0.05);
}

export function alertSound(button) {
  const allowed = page.sound !== false;
  const Context = allowed && (window.AudioContext || window.webkitAudioContext);
  let on = Boolean(Context) && loadSetting();
  let context = null;
  let timers = [];
  const self = { played: 0 };

  function state() {
    if (!Context) {
      return "none";
    }
    if (!on) {
      return "off";
    }
    return context && context.state === "running" ? "on" : "blocked";
  }

  function updateButton() {
    const now = state();
    setAttribute(button, "data-sound", now);
    setAttribute(button, "aria-pressed", on ? "true" : "false");
    setAttribute(button, "title", now === "blocked" ? word("sound_blocked") : null);
    setText(button.querySelector(".sound-word") || button,
      word(now === "blocked" ? "sound_blocked_short" : on ? "sound_on" : "sound_off"));
    setClass(button, "hidden", now === "none");
  }

  // Only after input or for an alert: browsers warn about earlier audio contexts.
  function prepareContext() {
    if (on && !context) {
      context = new Context();
      context.onstatechange = updateButton;
    }
    if (context && context.state === "suspended" && context.resume) {
      context.resume();
    }
    updateButton();
  }

  function play(severity) {
    const loud = severity >= 3 ? 0.28 : 0.12;
    prepareContext();
    if (state() !== "on") {
      return;
    }
    (severity >= 3 ? URGENT_TONES : GENTLE_TONES).forEach(note => {
      playTone(context, note, loud);
    });
    self.played += 1;
    setAttribute(button, "data-played", self.played);
  }

  self.quiet = () => {
    timers.forEach(window.clearTimeout);
    timers = [];
  };

  self.alert = severity => {
    play(severity);
    if (severity >= 3) {
      self.quiet();
      timers = REPEAT_AFTER_MS.map(after => window.setTimeout(() => play(severity), after));
    }
  };

  button.addEventListener("click", () => {
    on = !on;
    storeSetting(on);
    prepareContext();
    if (on) {
      play(1);
    }
  });
  ["pointerdown", "mousedown", "touchend", "keydown"].forEach(name => {
    document.addEventListener(name, () => {
      self.quiet();
      prepareContext();
    }, true);
  });
  updateButton();
  return self;
}
