import { HttpListener } from "../../../simulators/http-listener.ts";
import { type Attack, unless } from "../attack.ts";
import { megabytesOf, openLab, percentile } from "../lab.ts";

const MOST_MB = 250;

export const attack: Attack = {
  tries:
    "a BMC answers the worker itself (runtime in-process) with 64 MB of JSON, and with deeply nested JSON",
  holds: `the action fails, /healthz answers, and the worker takes less than ${MOST_MB} MB more`,
  async run(setting) {
    const json = { "Content-Type": "application/json" };
    const padding = `{"padding":"${"x".repeat(64_000_000)}"}`;
    const nested = `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`;
    await using large = new HttpListener({ tls: "http" }, () => ({
      status: 200,
      headers: json,
      body: padding,
    }));
    await using deep = new HttpListener({ tls: "http" }, () => ({
      status: 200,
      headers: json,
      body: nested,
    }));
    await Promise.all([large.listen(), deep.listen()]);
    const entryOf = ({ port }: HttpListener) => ({
      providers: ["redfish"],
      redfish: { port, scheme: "http" },
    });
    const entries = { "node-1": entryOf(large), "node-2": entryOf(deep) };
    await using lab = await openLab({ setting, runtime: "in-process", machines: [], entries });
    await lab.url();
    const before = await megabytesOf(lab.worker.child.pid);
    const ended = Promise.all(
      ["node-1", "node-2"].map((name) => lab.run(name, { name: "power-status", timeout: 10 })),
    );
    const slowest = percentile(await lab.latencies(ended), 1);
    const grownBy = (await megabytesOf(lab.worker.child.pid)) - before;

    return [
      ...(await ended).flatMap(({ state }) =>
        unless(["FAILED", "TIMEOUT"].includes(state), `it ended with ${state}`),
      ),
      ...unless(grownBy <= MOST_MB, `${grownBy.toFixed(0)} MB more`),
      ...unless(slowest <= 2_000, `/healthz took ${slowest.toFixed(0)} ms`),
    ];
  },
};
