import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type LogMessage, logMessages } from "../support/log-messages.ts";

const ROOT = join(import.meta.dirname, "../..");

const MANUAL = readFileSync(join(ROOT, "docs/reference/logs.md"), "utf8");

/** Files that pass on what others log. */
const sources: readonly LogMessage[] = [
  ...logMessages(join(ROOT, "worker"), ["commands/logger.ts"]),
  ...logMessages(join(ROOT, "shared"), ["progress-lines.ts", "log-outage.ts"]),
  ...logMessages(join(ROOT, "actions"), ["harness/result/changed-logger.ts", "harness/run/program.ts"]),
];

/** Rows that begin with a message: its levels and what to do. */
const documented = new Map(
  [...MANUAL.matchAll(/^\| `([^`]+)` \| ([a-z, ]+) \| ([^|]+) \|$/gm)].map(
    ([, message = "", level = "", advice = ""]) => [message, { level, advice }],
  ),
);

const needsNothing = [...MANUAL.matchAll(/^- `([^`]+)`$/gm)].map(([, message = ""]) => message);

describe("the manual of the logs", () => {
  it("has every warning and error, with its level or as one that needs nothing", () => {
    const wrong = sources.filter(({ message, level }) => {
      const row = documented.get(message);
      if (row) return level !== undefined && !row.level.split(", ").includes(level);
      return (level === "warn" || level === "error") && !needsNothing.includes(message);
    });

    expect(sources.length).toBeGreaterThan(70);
    expect(wrong).toEqual([]);
  });

  it("has no message that is never written", () => {
    const written = new Set(sources.map(({ message }) => message));
    const named = [...documented.keys(), ...needsNothing];

    expect(named.length).toBeGreaterThan(70);
    expect(named.filter((message) => !written.has(message))).toEqual([]);
    expect(new Set(named).size).toBe(named.length);
  });

  it("says what to do about each", () => {
    expect([...documented.values()].filter(({ advice }) => advice.trim().length < 5)).toEqual([]);
  });
});

describe("reading messages out of source", () => {
  it("finds messages in every form that the source uses", () => {
    const found = new Map(sources.map(({ message, level }) => [message, level]));

    expect(found.get("action started")).toBe("info");
    expect(found.get("action not started: journal write failed")).toBe("error");
    expect(found.get("<name> reloaded")).toBe("info");
    expect(found.has("hook succeeded") && found.has("hook failed")).toBe(true);
    expect(found.has("poll failed, retrying")).toBe(true);
  });
});
