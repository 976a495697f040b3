/*
 * The pit's alarm, drawn by us: two or three soft tones, no file.
 *
 * Shoe.alertSound(button)      makes the button the switch. Off until a person switches it on; that is
 *                         remembered on this computer. The browser lets nothing sound before a
 *                         click or a key: until then the button says so (data-sound="blocked").
 *                         data-sound is on, off, blocked, or none where there is no WebAudio or
 *                         the data block says `sound: false`.
 *     .alert(severity)    a new alert: 1 and 2 chime once; 3 and more sound, and again after 15,
 *                         30 and 60 seconds, and then no more, until somebody touches the page,
 *                         which ends it, or `quiet`
 *     .quiet()            nothing is open any more
 *     .played             how often it has sounded, for tests: also button's data-played
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var KEY = "shoe-sound";
  var AGAIN = [15000, 30000, 60000];
  var GENTLE = [[880, 0, 0.22], [1174.7, 0.16, 0.34]];
  var URGENT = [[987.8, 0, 0.16], [740, 0.18, 0.16], [987.8, 0.36, 0.16], [740, 0.54, 0.3]];

  function remembered() {
    try {
      return window.localStorage.getItem(KEY) === "on";
    } catch (error) {
      return false;
    }
  }

  function remember(on) {
    try {
      window.localStorage.setItem(KEY, on ? "on" : "off");
    } catch (error) {
      // A browser that keeps nothing is asked again after the next load.
      return;
    }
  }

  function tone(context, note, loud) {
    var at = context.currentTime + 0.03 + note[1];
    var source = context.createOscillator();
    var volume = context.createGain();
    source.type = "triangle";
    source.frequency.value = note[0];
    // Swelling and fading, since a tone that is cut off clicks.
    volume.gain.setValueAtTime(0.0001, at);
    volume.gain.exponentialRampToValueAtTime(loud, at + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + note[2]);
    source.connect(volume);
    volume.connect(context.destination);
    source.start(at);
    source.stop(at + note[2] + 0.05);
  }

  Shoe.alertSound = function (button) {
    var allowed = Shoe.page().sound !== false;
    var Context = allowed && (window.AudioContext || window.webkitAudioContext);
    var on = Boolean(Context) && remembered();
    var context = null;
    var waiting = [];
    var self = { played: 0 };

    function state() {
      if (!Context) {
        return "none";
      }
      if (!on) {
        return "off";
      }
      return context && context.state === "running" ? "on" : "blocked";
    }

    function show() {
      var now = state();
      Shoe.setAttribute(button, "data-sound", now);
      Shoe.setAttribute(button, "aria-pressed", on ? "true" : "false");
      Shoe.setAttribute(button, "title", now === "blocked" ? Shoe.word("sound_blocked") : null);
      Shoe.setText(button.querySelector(".sound-word") || button,
        Shoe.word(now === "blocked" ? "sound_blocked_short" : on ? "sound_on" : "sound_off"));
      Shoe.setClass(button, "hidden", now === "none");
    }

    // Not before somebody touches the page, or there is something to say: browsers complain.
    function prepare() {
      if (on && !context) {
        context = new Context();
        context.onstatechange = show;
      }
      if (context && context.state === "suspended" && context.resume) {
        context.resume();
      }
      show();
    }

    function play(severity) {
      var loud = severity >= 3 ? 0.28 : 0.12;
      prepare();
      if (state() !== "on") {
        return;
      }
      (severity >= 3 ? URGENT : GENTLE).forEach(function (note) { tone(context, note, loud); });
      self.played += 1;
      Shoe.setAttribute(button, "data-played", self.played);
    }

    self.quiet = function () {
      waiting.forEach(window.clearTimeout);
      waiting = [];
    };

    self.alert = function (severity) {
      play(severity);
      if (severity >= 3) {
        self.quiet();
        waiting = AGAIN.map(function (after) {
          return window.setTimeout(function () { play(severity); }, after);
        });
      }
    };

    button.addEventListener("click", function () {
      on = !on;
      remember(on);
      prepare();
      if (on) {
        play(1);
      }
    });
    ["pointerdown", "mousedown", "touchend", "keydown"].forEach(function (name) {
      document.addEventListener(name, function () {
        self.quiet();
        prepare();
      }, true);
    });
    show();
    return self;
  };
}());
