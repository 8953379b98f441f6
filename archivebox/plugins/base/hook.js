"use strict";
// What hooks in JavaScript require, as in `require(process.env.HOOK_BASE + "/hook.js")`: arguments, settings, records,
// endings, TERM, and the page that the Snapshot's tab shows. Works with node alone, 18 and later.
const fs = require("node:fs"), net = require("node:net"), path = require("node:path");

const options = {};
process.argv.slice(2).forEach((word, place, words) => {
  const [, name, value] = /^--([^=]+)(?:=([^]*))?$/.exec(word) ?? [];
  if (name) options[name.replaceAll("-", "_")] = value ?? words[place + 1];
});
const setting = (name, otherwise = "") => process.env[name] || otherwise; // '' counts as not set
const seconds = (plugin) => Number(setting(`${plugin}_TIMEOUT`, setting("TIMEOUT", "60")));

const log = (...words) => fs.writeSync(2, words.join(" ") + "\n");
const emit = (type, fields = {}) => fs.writeSync(1, JSON.stringify({ type, ...fields }) + "\n");
const ready = () => emit("Ready");
const waiting = () => emit("Waiting");
const found = (url, fields = {}) => emit("Snapshot", { url, ...fields });
const end = (status, code, retry) => (output_str, output_json, reason) => {
  emit("ArchiveResult", { status, output_str, output_json, retry, reason });
  process.exit(code);
};
const succeeded = end("succeeded", 0), noresults = end("noresults", 0), skipped = end("skipped", 10);
const failed = end("failed", 0); // it ran, and the thing was not to be had
const misconfigured = (sentence) => (log(sentence), end("failed", 1)(sentence)); // a person has to act on it
const tryAgain = (sentence, reason) => (log(sentence), end("failed", 1, "later")(sentence, undefined, reason)); // it may pass: later again
const pageLost = (sentence) => (log(sentence), end("failed", 1, "new_page")(sentence)); // again when the page is open anew
const onStop = (work) => ["SIGTERM", "SIGINT"].forEach((name) => process.once(name, async () => (await work(), process.exit(0))));
function writeAtomically(name, text) {
  fs.writeFileSync(`.${name}.tmp`, text);
  fs.renameSync(`.${name}.tmp`, name);
  return name;
}
function read(name) {
  try { return JSON.parse(fs.readFileSync(path.join("..", "chrome", name), "utf8")); }
  catch (error) { if (error.code === "ENOENT") return null; throw error; }
}

// The page of the Snapshot's tab: `await page.call("DOM.getDocument")`, `await page.evaluate("document.title")`. Ends
// the hook where there is none. Messages to and from the browser end with a NUL.
function openPage(limit) {
  const navigation = read("navigation.json"), tab = read("target.json");
  if (navigation?.error && navigation.transient) tryAgain(`The page did not load: ${navigation.error}`, "nothing_came");
  if (navigation?.error) skipped(`the page did not load: ${navigation.error}`);
  if (navigation?.static) skipped(`not a web page but a file: ${navigation.mime || "a download"}`);
  if (!tab) pageLost("The page is not open.");
  if (!navigation) tryAgain("The page has not been navigated to yet: the chrome plugin's hooks have to run first.");
  setTimeout(() => tryAgain("The page did not answer in time."), limit * 900).unref();
  const socket = net.connect(tab.socket), waiting = new Map();
  let rest = "", last = 0;
  socket.setEncoding("utf8");
  socket.on("error", (error) => pageLost(`The page cannot be reached: ${error.message}`));
  socket.on("close", () => waiting.size && pageLost("The page was lost on the way."));
  socket.on("data", (data) => {
    const messages = (rest + data).split("\0");
    rest = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      const [resolve, reject] = waiting.get(message.id) ?? [];
      if (message.error) reject?.(new Error(message.error.message));
      else resolve?.(message.result);
      waiting.delete(message.id);
    }
  });
  socket.write(JSON.stringify({ target: tab.target_id }) + "\0");
  const call = (method, params = {}) => new Promise((...both) => {
    waiting.set(++last, both);
    socket.write(JSON.stringify({ id: last, method, params }) + "\0");
  });
  const evaluate = async (expression) => {
    const answer = await call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? "script error");
    return answer.result.value;
  };
  return { call, evaluate, navigation, close: () => socket.end() };
}

module.exports = {
  options, setting, seconds, log, emit, ready, waiting, found, succeeded, noresults, skipped, failed, misconfigured, tryAgain,
  pageLost, onStop, writeAtomically, openPage,
};
