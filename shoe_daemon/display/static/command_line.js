/*
 * Orders as command lines: the page shows them, a person gives them.
 *
 * Shoe.commands.quote(text)         one word of a shell, whatever it holds
 * Shoe.commands.commandLine(verb, fields)  "shoe-daemon cmd rule --irregularity 841 …" for the table of
 *                                 this page; null where a field is not what it has to be: what
 *                                 comes from a broker never becomes another command
 * Shoe.commands.createElement(line)         <div class="order"> with the line in <code data-command> and a
 *                                 button that copies it without any permission
 * Shoe.commands.setTable(row, options) which table it is for, and the options with which the broker is
 *                                 reached; null among them is the host of this page's address
 * Shoe.commands.bindOperator(input)         the operator's name, remembered on this computer; every line
 *                                 shown follows it
 */
var Shoe = window.Shoe || {};
window.Shoe = Shoe;

(function () {
  "use strict";

  var KEY = "shoe-operator";
  var operator = "";
  var place = { site: null, table: null, options: [] };
  var shown = [];
  var FORMS = {
    irregularity: /^[1-9][0-9]{0,15}$/,
    action: /^([a-z_]{1,40}|ACTION)$/,
    round: /^[1-9][0-9]{0,6}$/,
    slot: /^([PB][123]|PLACE)$/,
    card: /^((10|[2-9AJQK])[SHDC]|CARD)$/
  };
  var ID = /^[a-z0-9-]{1,40}$/;
  var commands = {};
  Shoe.commands = commands;

  commands.quote = function (text) {
    return /^~?[A-Za-z0-9_.@:\/-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'";
  };

  function pageHost() {
    return window.location.hostname.replace(/^\[|\]$/g, "");
  }

  function ending() {
    var options = place.options.map(function (word) {
      return commands.quote(word === null ? pageHost() : word);
    });
    return (operator ? " --operator " + commands.quote(operator) : "") +
      " " + options.concat(["--site", place.site, "--table", place.table]).join(" ");
  }

  commands.commandLine = function (verb, fields) {
    var names = Object.keys(fields);
    var good = names.every(function (name) { return FORMS[name].test(String(fields[name])); });
    if (!good || !ID.test(place.site || "") || !ID.test(place.table || "")) {
      return null;
    }
    return "shoe-daemon cmd " + verb + names.map(function (name) {
      return " --" + name + " " + fields[name];
    }).join("");
  };

  // Each word holds together: a line broken within `--action` would be misread.
  function write(code) {
    var text = code.shoeLine + ending();
    Shoe.fillOnChange(code, text, function () {
      return text.split(" ").map(function (word, place) {
        return [place ? " " : null, Shoe.el("span", { text: word })];
      });
    });
  }

  function selected(node) {
    var range = document.createRange();
    var selection = window.getSelection();
    range.selectNodeContents(node);
    selection.removeAllRanges();
    selection.addRange(range);
  }

  function copied() {
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
    write(code);
    shown = shown.filter(function (each) { return document.body.contains(each); });
    window.setTimeout(function () { shown.push(code); }, 0);
    button.addEventListener("click", function () {
      selected(code);
      Shoe.setText(button, Shoe.word(copied() ? "order_copied" : "order_press"));
      window.setTimeout(function () { Shoe.setText(button, Shoe.word("order_copy")); }, 3000);
    });
    return Shoe.el("div", { "class": "order" }, [code, button]);
  };

  function again() {
    shown.forEach(write);
  }

  commands.setTable = function (row, options) {
    place = { site: row.site, table: row.table, options: options || [] };
    again();
  };

  commands.bindOperator = function (input) {
    try {
      operator = window.localStorage.getItem(KEY) || "";
    } catch (error) {
      operator = "";
    }
    input.value = operator;
    input.addEventListener("input", function () {
      operator = input.value.trim().slice(0, 60);
      try {
        window.localStorage.setItem(KEY, operator);
      } catch (error) {
        // A browser that keeps nothing is told again after the next load.
        operator = input.value.trim().slice(0, 60);
      }
      again();
    });
  };
}());
