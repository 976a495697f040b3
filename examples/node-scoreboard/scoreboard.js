// A page with one table's scoreboard, drawn from the retained documents of the table.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import mqtt from "mqtt";

const DOCUMENTS = ["status", "state"];
const MAX_BYTES = 65536;
const setting = process.env;
const table = setting.SHOE_TABLE;

const latest = new Map(); // by name: the document, when it arrived, if it is the broker's copy
const seen = new Set(); // the numbers of events
let link = "no broker"; // why there is no connection; empty while there is one
let dropped = 0;

for (const name of ["SHOE_BROKER", "SHOE_TABLE", "SHOE_USER", "SHOE_PASSWORD_FILE"]) {
  if (!setting[name]) {
    console.error(`${name} is not set: see ../table.env`);
    process.exit(2);
  }
}

const client = mqtt.connect(setting.SHOE_BROKER, {
  protocolVersion: 5,
  username: setting.SHOE_USER,
  password: readFileSync(setting.SHOE_PASSWORD_FILE, "utf8").split("\n")[0],
  ca: setting.SHOE_CA_FILE ? readFileSync(setting.SHOE_CA_FILE) : undefined,
  keepalive: 10,
  reconnectPeriod: 1000, // milliseconds: it connects, and connects again, by itself
  reconnectOnConnackError: true, // also after the broker has refused the account
  resubscribe: false, // done in "connect"
});

client.on("connect", () => {
  latest.clear();
  link = "";
  const names = [...DOCUMENTS, "event/round_finished"];
  client.subscribe(names.map((name) => `${table}/${name}`), { qos: 1 });
});
client.on("error", (error) => {
  link = `no broker: ${error.message || error.code}`;
});
client.on("close", () => {
  link ||= "no broker";
});

client.on("message", (topic, payload, packet) => {
  try {
    if (payload.length > MAX_BYTES) throw new Error("too large");
    const document = JSON.parse(payload.length ? payload : "{}"); // no payload: cleared
    if (document === null || typeof document !== "object") throw new Error("not an object");
    const name = topic.slice(table.length + 1);
    if (name === "event/round_finished") announce(document);
    else latest.set(name, { document, at: performance.now(), isCopy: packet.retain });
  } catch {
    dropped += 1; // no message may end this program
  }
});

// The board is drawn from documents. Events are for what happens once, here a line in the log;
// an event may arrive twice, or not at all.
function announce({ seq, round, data }) {
  if (seen.has(seq)) return;
  const totals = `player ${data.player.total}, banker ${data.banker.total}`;
  console.log(`round ${round}: ${data.outcome} (${totals})`);
  seen.add(seq);
  if (seen.size > 1000) seen.delete(seen.values().next().value);
}

// Why the board must be greyed out; empty while the table is live.
function whyStale(status, state, age, isCopy) {
  if (link) return link;
  if (status.state !== "online") return `the table is ${status.state ?? "unknown"}`;
  if (!state.session) return "the table is silent";
  if (status.session !== state.session) return "the table has started again";
  // A copy counts for less: the table may have failed together with its broker.
  const limit = isCopy ? state.heartbeat + 2 : 3 * state.heartbeat;
  if (!(age <= limit)) return "the table is silent";
  return state.alarm ?? "";
}

function board() {
  const never = { document: {}, at: 0, isCopy: true };
  const [status, state] = DOCUMENTS.map((name) => latest.get(name) ?? never);
  const age = (performance.now() - state.at) / 1000;
  const stale = whyStale(status.document, state.document, age, state.isCopy);
  return { stale, dropped, state: state.document };
}

const page = readFileSync(new URL("page.html", import.meta.url));
createServer((request, response) => {
  if (request.url === "/board.json") {
    response.writeHead(200, { "Content-Type": "application/json", "Cache-Control": "no-store" });
    response.end(JSON.stringify(board()));
  } else {
    response.writeHead(request.url === "/" ? 200 : 404, { "Content-Type": "text/html" });
    response.end(request.url === "/" ? page : "");
  }
}).listen(Number(setting.SHOE_PAGE_PORT), "127.0.0.1", function () {
  console.log(`the page: http://127.0.0.1:${this.address().port}/`);
});
