import { type Attack, unless } from "../attack.ts";
import { openLab, percentile } from "../lab.ts";

const HEALTHY_MS = 50;

export const attack: Attack = {
  tries: "an action prints 2,000 lines of 16 KiB of escape sequences",
  holds: `/healthz stays below ${HEALTHY_MS} ms at the 99th percentile, or three times what it was before`,
  alone: true,
  async run(setting) {
    await using lab = await openLab({ setting, hostile: true });
    const quiet = percentile(await lab.latencies(new Promise((resolve) => setTimeout(resolve, 1_000))), 0.99);
    const ended = lab.run("node-1", { name: "hostile", command: ["escapes:2000"], timeout: 20 });
    const flooded = percentile(await lab.latencies(ended), 0.99);
    const limit = Math.max(HEALTHY_MS, 3 * quiet);

    return [
      ...unless((await ended).state !== "STUCK", "the action did not end"),
      ...unless(flooded <= limit, `p99 ${flooded.toFixed(0)} ms, before ${quiet.toFixed(0)} ms`),
    ];
  },
};
