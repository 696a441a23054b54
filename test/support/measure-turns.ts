import { writeFileSync } from "node:fs";

/**
 * Loaded into a worker before its own code (NODE_OPTIONS=--import=…): at SIGWINCH, writes the most processor time in milliseconds that
 * one turn of the event loop took since the last one, to the file `TURNS_FILE`.
 */
const file = process.env["TURNS_FILE"] ?? "";
const LOOK_MS = 5;
const spentMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};
let last = spentMs();
let longest = 0;
let times = 0;

const look = () => {
  const now = spentMs();
  longest = Math.max(longest, now - last);
  last = now;
};
setInterval(look, LOOK_MS).unref();
process.on("SIGWINCH", () => {
  look();
  times += 1;
  writeFileSync(file, JSON.stringify({ times, longest }));
  longest = 0;
});
