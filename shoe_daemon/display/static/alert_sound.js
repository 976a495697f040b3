/*
 * The sound of alerts in the pit: two or three soft tones, generated, without a file.
 *
 * new AlertSound(button)  makes the button the switch. Off by default; the setting is stored on
 *                    this computer. Browsers play no sound before a click or a key: until
 *                    then data-sound is "blocked", and the button says so. data-sound is on,
 *                    off, blocked, or none without WebAudio or if the data block says
 *                    `sound: false`.
 *     .alert(severity)    plays for a new alert: once for 1 and 2; for 3 and more again after 15,
 *                         30 and 60 seconds, until somebody touches the page, or `quiet`
 *     .quiet()            cancels the repetitions
 *
 * For tests: data-played of the button, the number of sounds played
 */
import { setAttribute, setClass, setText } from "./dom.js";
import { load, store } from "./storage.js";
import { page, word } from "./translations.js";

const STORAGE_KEY = "shoe-sound";
const REPEAT_AFTER_MS = [15000, 30000, 60000];
const GENTLE_TONES = [[880, 0, 0.22], [1174.7, 0.16, 0.34]];
const URGENT_TONES = [[987.8, 0, 0.16], [740, 0.18, 0.16], [987.8, 0.36, 0.16], [740, 0.54, 0.3]];

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

export class AlertSound {
  constructor(button) {
    this.button = button;
    this.Context = page.sound !== false && (window.AudioContext || window.webkitAudioContext);
    this.context = null;
    this.isOn = Boolean(this.Context) && load(STORAGE_KEY) === "on";
    this.timers = [];
    this.played = 0;
    button.addEventListener("click", () => this.toggle());
    ["pointerdown", "mousedown", "touchend", "keydown"].forEach(name => {
      document.addEventListener(name, () => {
        this.quiet();
        this.prepareContext();
      }, true);
    });
    this.updateButton();
  }

  state() {
    if (!this.Context) {
      return "none";
    }
    if (!this.isOn) {
      return "off";
    }
    return this.context && this.context.state === "running" ? "on" : "blocked";
  }

  updateButton() {
    const button = this.button;
    const now = this.state();
    setAttribute(button, "data-sound", now);
    setAttribute(button, "aria-pressed", String(this.isOn));
    setAttribute(button, "title", now === "blocked" ? word("sound_blocked") : null);
    setText(button.querySelector(".sound-word") || button,
      word(now === "blocked" ? "sound_blocked_short" : this.isOn ? "sound_on" : "sound_off"));
    setClass(button, "hidden", now === "none");
  }

  toggle() {
    this.isOn = !this.isOn;
    store(STORAGE_KEY, this.isOn ? "on" : "off");
    this.prepareContext();
    if (this.isOn) {
      this.play(1);
    }
  }

  // Only after input or for an alert: browsers warn about earlier audio contexts.
  prepareContext() {
    if (this.isOn && !this.context) {
      this.context = new this.Context();
      this.context.onstatechange = () => this.updateButton();
    }
    if (this.context && this.context.state === "suspended") {
      this.context.resume();
    }
    this.updateButton();
  }

  play(severity) {
    this.prepareContext();
    if (this.state() !== "on") {
      return;
    }
    const loud = severity >= 3 ? 0.28 : 0.12;
    (severity >= 3 ? URGENT_TONES : GENTLE_TONES).forEach(note =>
      playTone(this.context, note, loud));
    this.played += 1;
    setAttribute(this.button, "data-played", this.played);
  }

  alert(severity) {
    this.play(severity);
    if (severity >= 3) {
      this.quiet();
      this.timers = REPEAT_AFTER_MS.map(after =>
        window.setTimeout(() => this.play(severity), after));
    }
  }

  quiet() {
    this.timers.forEach(window.clearTimeout);
    this.timers = [];
  }
}
