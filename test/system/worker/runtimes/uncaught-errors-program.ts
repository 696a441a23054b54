import { silentLogger } from "../../../../shared/logger.ts";
import { UncaughtErrors } from "../../../../shared/uncaught-errors.ts";
import type { ActionLibrary } from "../../../../worker/runtimes/action-library.ts";
import { InProcessRuntime } from "../../../../worker/runtimes/in-process/in-process-runtime.ts";
import { scriptedRequest } from "../../../worker/runtimes/launch-request.ts";

/**
 * Runs actions that let errors escape, and prints a JSON line for the outcome of each. With `own` as its argument an
 * error escapes the program itself in the end; with `several` the runtime is not the only one that takes such errors.
 */
const ok = { action: "x", ok: true, message: "done", durationMs: 0, roundTrips: 0 };
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const untilTold = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

type Run = (signal: AbortSignal) => Promise<void>;

const actions: Readonly<Record<string, Run>> = {
  "rejects-unheard": async (signal) => {
    void Promise.reject(new Error("an unhandled rejection"));
    await untilTold(signal);
  },
  "throws-in-a-timer": async (signal) => {
    setTimeout(() => {
      throw new Error("thrown in a timer");
    }, 5);
    await untilTold(signal);
  },
  "throws-after-its-end": async () => {
    setTimeout(() => {
      throw new Error("too late");
    }, 30);
  },
  "throws-at-once": () => {
    throw new Error("thrown at once");
  },
  sound: async () => later(100),
};

const library: ActionLibrary = {
  names: () => Object.keys(actions),
  inputNames: () => [],
  idempotentNames: () => [],
  find: async (name) => {
    const run = actions[name];
    if (!run) return undefined;
    return {
      idempotent: true,
      problems: async () => [],
      run: ({ signal }) => run(signal).then(() => ({ exitCode: 0, result: ok })),
    };
  },
};

const errors: unknown[] = [];
const runtime = new InProcessRuntime({
  actions: library,
  refuse: async () => undefined,
  log: { ...silentLogger, error: (fields) => errors.push(fields["error"]) },
  stopGraceMs: 1_000,
});
await Promise.all(
  Object.keys(actions).map(async (name) => {
    const { request } = scriptedRequest([], { action: { image: `localhost/${name}:v1` } });
    const { outcome } = await runtime.run(request, new AbortController().signal);
    const { ok: success, class: errorClass, message } = outcome;
    process.stdout.write(`${JSON.stringify({ name, ok: success, class: errorClass, message })}\n`);
  }),
);
await later(100);
process.stdout.write(`${JSON.stringify({ errors })}\n`);
if (process.argv[2] === "several") {
  // Another user of the same listener opens and closes beside the runtime.
  const other = new UncaughtErrors();
  const isolated = other.isolate(async (signal) => {
    setTimeout(() => {
      throw new Error("thrown in a timer of another");
    }, 1);
    await untilTold(signal);
    return "stopped";
  }, new AbortController().signal);
  const message = await isolated.catch((thrown: Error) => thrown.message);
  other.close();
  other.close();
  process.stdout.write(`${JSON.stringify({ name: "isolated", message })}\n`);
  const { request } = scriptedRequest([], { action: { image: "localhost/throws-in-a-timer:v1" } });
  const { outcome } = await runtime.run(request, new AbortController().signal);
  process.stdout.write(`${JSON.stringify({ name: "after", message: outcome.message })}\n`);
}
if (process.argv[2] === "own") {
  setTimeout(() => {
    throw new Error("the program's own");
  }, 1);
  await later(1_000);
  process.stdout.write(`${JSON.stringify({ name: "survived" })}\n`);
}
await runtime.close();
