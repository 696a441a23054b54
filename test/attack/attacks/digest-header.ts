import { HttpListener } from "../../../simulators/http-listener.ts";
import { type Attack, unless } from "../attack.ts";
import { closing, openLab, percentile } from "../lab.ts";

const SLOWEST_MS = 250;
/** Below what a client takes of headers. */
const BYTES = 15_000;

export const attack: Attack = {
  tries: "a device answers the worker itself (runtime in-process) with Digest headers of 15 kB",
  holds: `/healthz never takes more than ${SLOWEST_MS} ms, or three times what it took before`,
  alone: true,
  async run(setting) {
    const headers = [
      `Digest realm="${"\\".repeat(BYTES)}`,
      `Digest ${" ".repeat(BYTES)}`,
      `Digest ${"a".repeat(BYTES)}`,
      `Digest ${"a=,".repeat(BYTES / 3)}`,
      `Digest realm="a", ${'b="'.repeat(BYTES / 3)}`,
    ];
    let next = 0;
    await using device = closing(
      new HttpListener({ tls: "http" }, () => ({
        status: 401,
        headers: { "WWW-Authenticate": headers[next++ % headers.length] ?? "" },
      })),
    );
    await device.listen();
    const entry = { providers: ["amt"], amt: { port: device.port, scheme: "http" } };
    await using lab = await openLab({
      setting,
      runtime: "in-process",
      machines: [],
      entries: { "node-1": entry },
    });
    const quiet = percentile(await lab.latencies(new Promise((resolve) => setTimeout(resolve, 1_000))), 1);
    const ended = (async () => {
      for (let run = 0; run < headers.length; run += 1)
        await lab.run("node-1", { name: "power-status", timeout: 10 });
    })();
    const slowest = percentile(await lab.latencies(ended), 1);
    await ended;

    return [
      ...unless(device.requests.length > 0, "the device was never asked"),
      ...unless(
        slowest <= Math.max(SLOWEST_MS, 3 * quiet),
        `/healthz took ${slowest.toFixed(0)} ms, before ${quiet.toFixed(0)} ms`,
      ),
    ];
  },
};
