// Runs flows.json with the settings of ../table.env, on loopback and without the editor.
const { readFileSync } = require("node:fs");

// Nodes take a password from a variable, so it becomes one here, in this process only.
const file = process.env.SHOE_PASSWORD_FILE;
process.env.SHOE_PASSWORD = readFileSync(file, "utf8").split("\n")[0];

module.exports = {
  userDir: __dirname,
  flowFile: "flows.json",
  credentialSecret: false, // flows_cred.json names variables; it holds no password
  uiHost: "127.0.0.1",
  uiPort: process.env.SHOE_PAGE_PORT,
  httpAdminRoot: false, // whoever can open the editor can run programs here
  telemetry: { enabled: false },
};
