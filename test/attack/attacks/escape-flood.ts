import { type Attack, unless } from "../attack.ts";
import { openLab, percentile } from "../lab.ts";

const HEALTHY_MS = 50;

export const attack: Attack = {
  tries: "an action prints 2,000 lines of 16 KiB of escape sequences",
  holds: `/healthz stays below ${HEALTHY_MS} ms at the 99th percentile, or three times what it is with as much plain text`,
  alone: true,
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true });
    const print = async (step: string) => {
      const ended = lab.run("node-1", { name: "hostile", command: [`${step}:2000`], timeout: 10 });
      const p99 = percentile(await lab.latencies(ended), 0.99);
      return { p99, state: (await ended).state };
    };
    const plain = await print("lines");
    const { p99, state } = await print("escapes");

    return [
      ...unless(state !== "STUCK", "the action did not end"),
      ...unless(
        p99 <= Math.max(HEALTHY_MS, 3 * plain.p99),
        `p99 ${p99.toFixed(0)} ms, with plain text ${plain.p99.toFixed(0)} ms`,
      ),
    ];
  },
};
