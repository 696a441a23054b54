import { CLOCK_OFFSET_VARIABLE, type ProbeOrder } from "./probe-order.ts";

/**
 * Loaded into a worker before its own code (`node --import`): lets its wall clock jump, tells what it holds in memory,
 * and stops the worker when the run is gone. The worker knows nothing of it.
 */

const realNow = Date.now.bind(Date);
const RealDate = Date;
let offsetMs = Number(process.env[CLOCK_OFFSET_VARIABLE] ?? 0);

const now = () => realNow() + offsetMs;
Date.now = now;
// Timers and performance.now follow another clock, which no jump moves (clock_gettime(2), CLOCK_MONOTONIC).
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  apply: () => new RealDate(now()).toString(),
});

process.on("message", (message: unknown) => {
  const order = orderOf(message);
  if (order?.probe === "clock") offsetMs = order.offsetMs;
  if (order?.probe === "memory") {
    // Garbage does not count.
    globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    process.send?.({ probe: "memory", heldBytes: heapUsed + external });
  }
});
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
// A worker must end by itself.
process.channel?.unref();

function orderOf(message: unknown): ProbeOrder | undefined {
  if (typeof message !== "object" || message === null || !("probe" in message)) return undefined;
  if (message.probe === "memory") return { probe: "memory" };
  if (message.probe !== "clock" || !("offsetMs" in message)) return undefined;
  return { probe: "clock", offsetMs: Number(message.offsetMs) };
}
