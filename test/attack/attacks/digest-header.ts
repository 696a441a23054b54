import { HttpListener } from "../../../simulators/http-listener.ts";
import { type Attack, unless } from "../attack.ts";
import { type Entry, openLab, percentile } from "../lab.ts";

const SLOWEST_MS = 250;
/** Below what a client takes of headers. */
const BYTES = 15_000;

export const attack: Attack = {
  tries: "devices answer the worker itself (runtime in-process) with Digest headers of 15 kB",
  holds: `/healthz never takes more than ${SLOWEST_MS} ms, or three times what it takes with short headers`,
  alone: true,
  async run(setting) {
    const headers = [
      `Digest realm="${"\\".repeat(BYTES)}`,
      `Digest ${" ".repeat(BYTES)}`,
      `Digest ${"a".repeat(BYTES)}`,
      `Digest ${"a=,".repeat(BYTES / 3)}`,
      `Digest realm="a", ${'b="'.repeat(BYTES / 3)}`,
    ];
    let asked = 0;
    await using stack = new AsyncDisposableStack();
    /** A machine is asked once: after a refused login, its account is spared. */
    const deviceWith = async (header: string): Promise<Entry> => {
      const answer = () => {
        if (headers.includes(header)) asked += 1;
        return { status: 401, headers: { "WWW-Authenticate": header } };
      };
      const device = stack.use(new HttpListener({ tls: "http" }, answer));
      await device.listen();
      return { providers: ["amt"], amt: { port: device.port, scheme: "http" } };
    };
    const entries: Record<string, Entry> = {};
    for (const [index, header] of headers.entries()) {
      entries[`quiet-${index}`] = await deviceWith('Digest realm="a", nonce="b"');
      entries[`hostile-${index}`] = await deviceWith(header);
    }
    await using lab = await openLab({ setting, runtime: "in-process", machines: [], entries });
    const slowestOf = async (kind: "quiet" | "hostile") => {
      const ended = (async () => {
        for (const index of headers.keys())
          await lab.run(`${kind}-${index}`, { name: "power-status", timeout: 10 });
      })();
      return percentile(await lab.latencies(ended), 1);
    };
    const quiet = await slowestOf("quiet");
    const slowest = await slowestOf("hostile");

    return [
      ...unless(asked >= headers.length, `the devices were asked ${asked} times only`),
      ...unless(
        slowest <= Math.max(SLOWEST_MS, 3 * quiet),
        `/healthz took ${slowest.toFixed(0)} ms, with short headers ${quiet.toFixed(0)} ms`,
      ),
    ];
  },
};
