/*
 * Moves elements only while the person does not use the page.
 *
 * whenIdle(move)     calls move() now; but while a finger or a button is down, or the mouse,
 *                    the wheel or the page moved a moment ago, as soon as that is over, and
 *                    after 3 s at the latest (never while a finger is down). Under an open
 *                    sheet it is called at once. Only the last of several calls counts. The scroll
 *                    position and the focus are kept.
 * arrange(parent, nodes)  makes the nodes the children of the parent, in this order, moving
 *                    as few as possible; returns whether any child was moved or removed
 */
const IDLE_AFTER_MS = 900;
const MAX_DELAY_MS = 3000;
let pressed = false;
let lastInput = 0;
let pendingMove = null;
let pendingSince = 0;
let timer = null;

function isBusy() {
  const now = Date.now();
  // What a sheet covers is not touched.
  if (document.body.classList.contains("behind")) {
    return false;
  }
  return pressed || now - lastInput < IDLE_AFTER_MS && now - pendingSince < MAX_DELAY_MS;
}

function findAnchor() {
  let found = null;
  if (window.pageYOffset > 0) {
    Array.from(document.querySelectorAll("[data-anchor]")).some(node => {
      const box = node.getBoundingClientRect();
      if (box.height && box.bottom > 60) {
        found = { node, top: box.top };
      }
      return found !== null;
    });
  }
  return found;
}

function runMove() {
  const move = pendingMove;
  const kept = findAnchor();
  const focused = document.activeElement;
  pendingMove = null;
  move();
  if (focused && focused !== document.activeElement && document.body.contains(focused)) {
    focused.focus();
  }
  if (kept && document.body.contains(kept.node)) {
    window.scrollBy(0, kept.node.getBoundingClientRect().top - kept.top);
  }
}

function check() {
  timer = null;
  if (pendingMove && isBusy()) {
    timer = window.setTimeout(check, 150);
  } else if (pendingMove) {
    runMove();
  }
}

export function whenIdle(move) {
  if (!pendingMove) {
    pendingSince = Date.now();
  }
  pendingMove = move;
  if (timer === null) {
    check();
  }
}

export function arrange(parent, nodes) {
  let moved = false;
  Array.from(parent.children).forEach(child => {
    if (!nodes.includes(child)) {
      parent.removeChild(child);
      moved = true;
    }
  });
  nodes.forEach((node, place) => {
    if (parent.children[place] !== node) {
      parent.insertBefore(node, parent.children[place] || null);
      moved = true;
    }
  });
  return moved;
}

function listen(names, listener) {
  names.forEach(name => {
    document.addEventListener(name, listener, true);
  });
}

listen(["mousedown", "touchstart"], () => { pressed = true; lastInput = Date.now(); });
listen(["mouseup", "touchend", "touchcancel", "dragend"], () => {
  pressed = false;
  lastInput = Date.now();
});
listen(["mousemove", "wheel", "scroll", "keydown"], () => { lastInput = Date.now(); });
window.addEventListener("blur", () => { pressed = false; });
