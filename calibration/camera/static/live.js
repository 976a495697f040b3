"use strict";
// Polls the picture and what lies over it; sends what is dragged, clicked and answered.
const secret = location.pathname.split("/")[1];
const at = (id) => document.getElementById(id);
const picture = at("picture");
const pen = picture.getContext("2d");
const over = at("over");
const SVG = "http://www.w3.org/2000/svg";
let state = { boxes: [], points: [], markers: [], lines: [], stages: [], wants: "" };
let drag = null;

// A picture is shown once it is whole: one that does not come leaves the last one there.
function poll() {
  if (state.over) return;
  const next = new Image();
  next.addEventListener("load", () => {
    if (picture.width !== next.naturalWidth || picture.height !== next.naturalHeight) {
      picture.width = next.naturalWidth;
      picture.height = next.naturalHeight;
      const ratio = next.naturalWidth / next.naturalHeight;
      document.documentElement.style.setProperty("--ratio", String(ratio));
    }
    pen.drawImage(next, 0, 0);
    setTimeout(poll, 120);
  });
  next.addEventListener("error", () => setTimeout(poll, 1000));
  next.src = "picture.jpg?" + Date.now();
}

async function ask() {
  try {
    const got = await fetch("state");
    if (!got.ok) throw new Error(String(got.status));
    if (!drag) show(await got.json());
    at("lost").hidden = true;
  } catch {
    at("lost").hidden = false;
  }
  if (!state.over) setTimeout(ask, 400);
}

async function send(order) {
  const got = await fetch("do", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Secret": secret },
    body: JSON.stringify(order),
  });
  if (got.ok) show(await got.json());
}

function shape(points, kind) {
  const made = document.createElementNS(SVG, "polygon");
  made.setAttribute("points", points.map((p) => p.join(",")).join(" "));
  made.setAttribute("class", kind);
  over.append(made);
  return made;
}

function label(points, words, size, kind = "", below = false) {
  const made = document.createElementNS(SVG, "text");
  const mean = (axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length;
  const foot = Math.max(...points.map((p) => p[1])) + size;
  made.setAttribute("x", mean(0));
  made.setAttribute("y", below ? foot : mean(1) + size / 3);
  made.setAttribute("class", kind);
  made.setAttribute("font-size", size);
  made.textContent = words;
  over.append(made);
}

function show(told) {
  if (told.serial !== state.serial) at("words").value = "";
  state = told;
  at("step").textContent = told.step;
  at("step").className = told.over || "";
  at("text").textContent = told.text;
  at("dark").hidden = Boolean(told.size) || Boolean(told.over);
  at("sharpness").textContent = told.sharpness === undefined ? "–" : told.sharpness.toFixed(2);
  at("light").textContent = told.light === undefined ? "–" : Math.round(told.light);
  at("marked").hidden = told.wants !== "markers";
  at("markers").textContent = (told.markers || []).length;
  at("turning").hidden = told.wants !== "boxes";
  at("pointing").hidden = told.wants !== "points" || !told.points.length;
  at("answer").hidden = told.wants !== "answer" && told.wants !== "markers";
  at("words").placeholder = told.hint || "";
  at("next").hidden = told.wants === "";
  showAsked(told.ask);
  at("stages").replaceChildren(...told.stages.map((name, number) => {
    const kind = told.over || number < told.stage ? "done" : number === told.stage ? "now" : "";
    return item("li", kind, item("span", "", name));
  }));
  at("lines").replaceChildren(...told.lines.slice().reverse().map(
    (line) => item("li", line.startsWith("to put right") ? "bad" : "", line)));
  at("budget").hidden = !told.boxes.length || Boolean(told.ask) || Boolean(told.over);
  at("budget").tBodies[0].replaceChildren(...told.boxes.map((box) => item("tr",
    box.pixels >= box.least ? "good" : "bad",
    item("td", "", box.name), item("td", "", String(box.pixels)))));
  if (told.boxes.length) {
    at("budget").caption.textContent = `Pixels of an index; ${told.boxes[0].least} at the least`;
  }
  draw();
}

function item(tag, kind, ...inside) {
  const made = document.createElement(tag);
  made.className = kind;
  made.append(...inside);
  return made;
}

function showAsked(asked) {
  at("ask").hidden = !asked;
  if (!asked) return;
  at("card").textContent = asked.card;
  at("card").className = asked.red ? "red" : "";
  at("slot").textContent = asked.slot;
}

function draw() {
  if (!state.size) return;
  // Letters keep their size for the eye, however small the picture is shown.
  const size = Math.max(state.size[0] / 55, (13 * state.size[0]) / (over.clientWidth || 1));
  over.setAttribute("viewBox", `0 0 ${state.size[0]} ${state.size[1]}`);
  over.setAttribute("class", state.wants);
  over.replaceChildren();
  state.boxes.forEach((box, index) => {
    const asked = state.ask && (box.name === state.ask.slot ? "asked" : "idle");
    const made = shape(box.points, asked || (box.pixels >= box.least ? "good" : "bad"));
    made.dataset.index = index;
    label(box.points, box.name, size, asked || "", true);
  });
  for (const marker of state.markers || []) {
    shape(marker.points, "marker");
    label(marker.points, marker.name, size);
  }
  for (let first = 0; first < state.points.length; first += 4) {
    const corners = state.points.slice(first, first + 4);
    if (corners.length > 2) shape(corners, "points");
  }
  for (const [x, y] of state.points) {
    const made = document.createElementNS(SVG, "circle");
    made.setAttribute("cx", x);
    made.setAttribute("cy", y);
    made.setAttribute("r", size / 4);
    over.append(made);
  }
}

function where(event) {
  const box = over.getBoundingClientRect();
  return [
    ((event.clientX - box.left) / box.width) * state.size[0],
    ((event.clientY - box.top) / box.height) * state.size[1],
  ];
}

over.addEventListener("pointerdown", (event) => {
  if (!state.size) return;
  const from = where(event);
  if (state.wants === "points") magnify(event);
  if (state.wants !== "boxes") return;
  const index = event.target.dataset.index;
  drag = { from, index: index === undefined ? -1 : Number(index), boxes: state.boxes };
  over.setPointerCapture(event.pointerId);
});

// What is under the pointer, four times as large, beside it: corners are hit to a pixel.
function magnify(event) {
  const [x, y] = where(event);
  const [loupe, box] = [at("loupe"), over.getBoundingClientRect()];
  const lens = loupe.getContext("2d");
  const reach = loupe.width / 8;
  lens.imageSmoothingEnabled = false;
  lens.fillRect(0, 0, loupe.width, loupe.height);
  lens.drawImage(picture, x - reach, y - reach, 2 * reach, 2 * reach,
    0, 0, loupe.width, loupe.height);
  lens.strokeStyle = "#ffd54f";
  lens.beginPath();
  for (const [from, to] of [[[90, 60], [90, 120]], [[60, 90], [120, 90]]]) {
    lens.moveTo(...from);
    lens.lineTo(...to);
  }
  lens.stroke();
  loupe.hidden = false;
  const [left, top] = [event.clientX - box.left, event.clientY - box.top];
  const wide = loupe.offsetWidth;
  loupe.style.left = `${left + (left > box.width / 2 ? -wide - 16 : 16)}px`;
  loupe.style.top = `${Math.max(0, Math.min(box.height - wide, top - wide / 2))}px`;
}

over.addEventListener("pointerleave", () => { at("loupe").hidden = true; });

over.addEventListener("pointermove", (event) => {
  if (state.wants === "points") magnify(event);
  if (!drag) return;
  const to = where(event);
  const move = (p) => [p[0] + to[0] - drag.from[0], p[1] + to[1] - drag.from[1]];
  const moved = drag.boxes.map((box, index) =>
    drag.index < 0 || drag.index === index ? { ...box, points: box.points.map(move) } : box);
  state = { ...state, boxes: moved };
  draw();
});

over.addEventListener("pointerup", (event) => {
  at("loupe").hidden = true;
  if (state.wants === "points") {
    const [x, y] = where(event);
    send({ do: "point", x, y });
  }
  if (!drag) return;
  const { from, index, boxes } = drag;
  const to = where(event);
  drag = null;
  const [x, y] = [to[0] - from[0], to[1] - from[1]];
  if (index < 0) {
    send({ do: "all", x, y });
  } else {
    // The middle of a box is where its diagonals cross, whatever the perspective.
    const [mx, my] = crossing(boxes[index].points);
    send({ do: "box", index, x: mx + x, y: my + y });
  }
});

over.addEventListener("pointercancel", () => { drag = null; });

function crossing([a, b, c, d]) {
  const [rx, ry, sx, sy] = [c[0] - a[0], c[1] - a[1], d[0] - b[0], d[1] - b[1]];
  const t = ((b[0] - a[0]) * sy - (b[1] - a[1]) * sx) / (rx * sy - ry * sx);
  return [a[0] + t * rx, a[1] + t * ry];
}

for (const button of document.querySelectorAll("[data-turn]")) {
  button.addEventListener("click", () => send({ do: "turn", degrees: Number(button.dataset.turn) }));
}
at("clear").addEventListener("click", () => send({ do: "clear" }));
at("next").addEventListener("click", () => {
  const words = at("words").value;
  at("words").value = "";
  send(state.wants === "answer" || state.wants === "markers"
    ? { do: "answer", text: words, serial: state.serial }
    : { do: "next", serial: state.serial });
});
at("answer").addEventListener("submit", (event) => {
  event.preventDefault();
  at("next").click();
});
poll();
ask();
