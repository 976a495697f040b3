"use strict";
// Polls the picture and what lies over it; sends what is dragged, clicked and answered.
const secret = location.pathname.split("/")[1];
const at = (id) => document.getElementById(id);
const picture = at("picture");
const over = at("over");
const SVG = "http://www.w3.org/2000/svg";
let state = { boxes: [], points: [], markers: [], lines: [], wants: "" };
let drag = null;

function poll() {
  picture.src = "picture.jpg?" + Date.now();
}
picture.addEventListener("load", () => setTimeout(poll, 120));
picture.addEventListener("error", () => setTimeout(poll, 1000));

async function ask() {
  try {
    const got = await fetch("state");
    if (!got.ok) throw new Error(String(got.status));
    if (!drag) show(await got.json());
    at("lost").hidden = true;
  } catch {
    at("lost").hidden = false;
  }
  setTimeout(ask, 400);
}

async function send(order) {
  const got = await fetch("do", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Calibration": secret },
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

function label(points, words, size) {
  const made = document.createElementNS(SVG, "text");
  made.setAttribute("x", points.reduce((sum, p) => sum + p[0], 0) / points.length);
  made.setAttribute("y", points.reduce((sum, p) => sum + p[1], 0) / points.length + size / 3);
  made.setAttribute("font-size", size);
  made.textContent = words;
  over.append(made);
}

function show(told) {
  state = told;
  at("step").textContent = told.step;
  at("text").textContent = told.text;
  at("sharpness").textContent = told.sharpness === undefined ? "–" : told.sharpness.toFixed(2);
  at("light").textContent = told.light === undefined ? "–" : Math.round(told.light);
  at("markers").textContent = told.wants === "markers" ? (told.markers || []).length : "–";
  at("turning").hidden = told.wants !== "boxes";
  at("pointing").hidden = told.wants !== "points";
  at("answer").hidden = told.wants !== "answer";
  at("next").hidden = told.wants === "";
  at("lines").replaceChildren(...told.lines.slice().reverse().map((line) => {
    const made = document.createElement("li");
    made.textContent = line;
    return made;
  }));
  at("budget").tBodies[0].replaceChildren(...told.boxes.map((box) => {
    const row = document.createElement("tr");
    row.className = box.pixels >= box.least ? "good" : "bad";
    for (const words of [box.name, `${box.pixels} pixels of ${box.least}`]) {
      row.insertCell().textContent = words;
    }
    return row;
  }));
  draw();
}

function draw() {
  if (!state.size) return;
  const size = state.size[0] / 50;
  over.setAttribute("viewBox", `0 0 ${state.size[0]} ${state.size[1]}`);
  over.setAttribute("class", state.wants);
  over.replaceChildren();
  state.boxes.forEach((box, index) => {
    const made = shape(box.points, box.pixels >= box.least ? "good" : "bad");
    made.dataset.index = index;
    label(box.points, box.name, size);
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
  if (state.wants === "points") send({ do: "point", x: from[0], y: from[1] });
  if (state.wants !== "boxes") return;
  const index = event.target.dataset.index;
  drag = { from, index: index === undefined ? -1 : Number(index), boxes: state.boxes };
  over.setPointerCapture(event.pointerId);
});

over.addEventListener("pointermove", (event) => {
  if (!drag) return;
  const to = where(event);
  const move = (p) => [p[0] + to[0] - drag.from[0], p[1] + to[1] - drag.from[1]];
  const moved = drag.boxes.map((box, index) =>
    drag.index < 0 || drag.index === index ? { ...box, points: box.points.map(move) } : box);
  state = { ...state, boxes: moved };
  draw();
});

over.addEventListener("pointerup", (event) => {
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
  send(state.wants === "answer"
    ? { do: "answer", text: words, serial: state.serial }
    : { do: "next", serial: state.serial });
});
at("answer").addEventListener("submit", (event) => {
  event.preventDefault();
  at("next").click();
});
poll();
ask();
