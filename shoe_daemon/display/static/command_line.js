/*
 * Command lines for the operator: the page shows them and sends no commands itself.
 *
 * Shoe.commands.quote(text)       quotes one word for a shell
 * Shoe.commands.commandLine(verb, fields)  "shoe-daemon cmd rule --irregularity 841 …" for the
 *                                 table of this page; null if a field is invalid: text from a
 *                                 broker never becomes another command
 * Shoe.commands.createElement(line)  <div class="order"> with the line in <code data-command> and
 *                                 a button that copies it
 * Shoe.commands.setTable(row, options)  sets the table, and the options with which the broker is
 *                                 reached; null among them is the host of this page's address
 * Shoe.commands.bindOperator(input)  reads the operator's name from the input and stores it on this
 *                                 computer; every line shown is updated
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var STORAGE_KEY = "shoe-operator";
  var operator = "";
  var target = { site: null, table: null, options: [] };
  var shownLines = [];
  var FIELD_FORMS = {
    irregularity: /^[1-9][0-9]{0,15}$/,
    action: /^([a-z_]{1,40}|ACTION)$/,
    round: /^[1-9][0-9]{0,6}$/,
    slot: /^([PB][123]|PLACE)$/,
    card: /^((10|[2-9AJQK])[SHDC]|CARD)$/
  };
  var ID_FORM = /^[a-z0-9-]{1,40}$/;
  var commands = {};
  Shoe.commands = commands;

  commands.quote = function (text) {
    return /^~?[A-Za-z0-9_.@:\/-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
  };

  function pageHost() {
    return window.location.hostname.replace(/^\[|\]$/g, "");
  }

  function commonOptions() {
    var options = target.options.map(function (word) {
      return commands.quote(word === null ? pageHost() : word);
    });
    return (operator ? " --operator " + commands.quote(operator) : "") +
      " " + options.concat(["--site", target.site, "--table", target.table]).join(" ");
  }

  commands.commandLine = function (verb, fields) {
    var names = Object.keys(fields);
    var good = names.every(function (name) {
      return FIELD_FORMS[name].test(String(fields[name]));
    });
    if (!good || !ID_FORM.test(target.site || "") || !ID_FORM.test(target.table || "")) {
      return null;
    }
    return "shoe-daemon cmd " + verb + names.map(function (name) {
      return " --" + name + " " + fields[name];
    }).join("");
  };

  // A word never wraps: a line broken within `--action` would be misread.
  function showLine(code) {
    var text = code.shoeLine + commonOptions();
    Shoe.fillOnChange(code, text, function () {
      return text.split(" ").map(function (word, position) {
        return [position ? " " : null, Shoe.el("span", { text: word })];
      });
    });
  }

  function select(node) {
    var range = document.createRange();
    var selection = window.getSelection();
    range.selectNodeContents(node);
    selection.removeAllRanges();
    selection.addRange(range);
  }

  function copySelection() {
    try {
      return document.execCommand("copy");
    } catch (error) {
      return false;
    }
  }

  commands.createElement = function (line) {
    var code = Shoe.el("code", { "data-command": line });
    var button = Shoe.el("button", {
      type: "button", "class": "copy", text: Shoe.word("order_copy")
    });
    code.shoeLine = line;
    showLine(code);
    shownLines = shownLines.filter(function (each) { return document.body.contains(each); });
    window.setTimeout(function () { shownLines.push(code); }, 0);
    button.addEventListener("click", function () {
      select(code);
      Shoe.setText(button, Shoe.word(copySelection() ? "order_copied" : "order_press"));
      window.setTimeout(function () { Shoe.setText(button, Shoe.word("order_copy")); }, 3000);
    });
    return Shoe.el("div", { "class": "order" }, [code, button]);
  };

  function updateLines() {
    shownLines.forEach(showLine);
  }

  commands.setTable = function (row, options) {
    target = { site: row.site, table: row.table, options: options || [] };
    updateLines();
  };

  commands.bindOperator = function (input) {
    try {
      operator = window.localStorage.getItem(STORAGE_KEY) || "";
    } catch (error) {
      operator = "";
    }
    input.value = operator;
    input.addEventListener("input", function () {
      operator = input.value.trim().slice(0, 60);
      try {
        window.localStorage.setItem(STORAGE_KEY, operator);
      } catch (error) {
        // Without storage the name is lost with the next load.
        operator = input.value.trim().slice(0, 60);
      }
      updateLines();
    });
  };
}());
