import { readFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * An action image that is trusted and should not be. It does what its arguments say, one step after the other; `SECRET` in a
 * text is the password of the connection that it was given.
 */
const steps: Readonly<Record<string, (argument: string) => unknown>> = {
  /** Base64 of what to print, so that anything can be said. */
  out: (text) => print(1, withSecret(Buffer.from(text, "base64").toString("utf8"))),
  err: (text) => print(2, withSecret(Buffer.from(text, "base64").toString("utf8"))),
  /** The secret in the form that the argument names, without a line end. */
  form: (name) => print(1, forms[name]?.(secret()) ?? `no form ${name}`),
  /** Plain, cut into pieces of so many characters, each in a write of its own. */
  split: async (size) => {
    const text = `before ${secret()} after\n`;
    for (let at = 0; at < text.length; at += Number(size)) {
      print(1, text.slice(at, at + Number(size)));
      await sleep(20);
    }
  },
  /** Both streams, without end; with the argument `line`, in a single line each. */
  flood: (kind) => {
    process.on("SIGTERM", () => undefined);
    const text = `flood of an action that never ends${kind === "line" ? " " : "\n"}`.repeat(1_000);
    const more = () => {
      print(1, text);
      print(2, text);
      setImmediate(more);
    };
    more();
    return new Promise(() => undefined);
  },
  sleep: (ms) => sleep(Number(ms)),
  exit: (code) => process.exit(Number(code)),
};

const forms: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text),
  html: (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
  percent: (text) => encodeURIComponent(text),
  base64: (text) => Buffer.from(text).toString("base64"),
  "base64-wrapped": (text) => Buffer.from(text).toString("base64").replace(/.{8}/g, "$&\n"),
  hex: (text) => Buffer.from(text).toString("hex"),
  "hex-upper": (text) => Buffer.from(text).toString("hex").toUpperCase(),
};

let read: string | undefined;

/** The password on stdin; empty without one. */
function secret(): string {
  if (read !== undefined) return read;
  read = "";
  try {
    read = String(JSON.parse(readFileSync(0, "utf8")).password ?? "");
  } catch {
    // Nothing came, or no JSON.
  }
  return read;
}

function withSecret(text: string): string {
  return text.includes("SECRET") ? text.replaceAll("SECRET", secret()) : text;
}

/** Pipes are non-blocking where libuv made them so: a full one answers EAGAIN. */
function print(fd: number, text: string): void {
  let rest = Buffer.from(text);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (thrown) {
      if (!(thrown instanceof Error && "code" in thrown && thrown.code === "EAGAIN")) process.exit(0);
    }
  }
}

for (const step of process.argv.slice(2)) {
  const colon = step.indexOf(":");
  const name = colon < 0 ? step : step.slice(0, colon);
  await steps[name]?.(colon < 0 ? "" : step.slice(colon + 1));
}
