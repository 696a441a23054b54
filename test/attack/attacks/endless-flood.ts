import { type Attack, unless } from "../attack.ts";
import { openLab, percentile } from "../lab.ts";

const TIMEOUT_S = 4;
/** Beside the two seconds: a container's start and removal, or three times what a quiet one needs for them on this host. */
const SLACK_MS = 4_000;
const SLEEP_MS = 10_000;
const MOST_LOG_BYTES = 20_000_000;
/** What a probe of Kubernetes waits by default. */
const PROBE_MS = 1_000;

export const attack: Attack = {
  tries:
    "an action prints on both streams without end, lines or a single line, and ignores SIGTERM, beside another machine's action",
  holds: `it ends within 2 s of its timeout, the other action is not delayed, the worker's log stays below ${MOST_LOG_BYTES / 1e6} MB, no probe of /healthz would fail`,
  async run(setting) {
    // The default: a flood gets less.
    const argv = ["--http-address", "127.0.0.1:0", "--stop-grace", "10s"];
    await using lab = await openLab({ setting, hostile: true, machines: ["node-1", "node-2"], argv });
    const alone = await lab.run("node-2", { name: "hostile", command: [`sleep:${SLEEP_MS}`] });
    const flooding = lab.run("node-1", { name: "hostile", command: ["flood"], timeout: TIMEOUT_S }, 45_000);
    const beside = new Promise((resolve) => setTimeout(resolve, 1_500)).then(() =>
      lab.run("node-2", { name: "hostile", command: [`sleep:${SLEEP_MS}`] }),
    );
    const latency = percentile(await lab.latencies(flooding), 0.99);
    const [lines, other] = await Promise.all([flooding, beside]);
    const line = await lab.run(
      "node-1",
      { name: "hostile", command: ["flood:line"], timeout: TIMEOUT_S },
      45_000,
    );
    const slackMs = Math.max(SLACK_MS, 3 * (alone.tookMs - SLEEP_MS));
    const otherLimitMs = 3 * alone.tookMs + 2_000;
    const loggedBytes = lab.worker.stderr.length;

    return [
      ...[lines, line].flatMap(({ state, tookMs }) => {
        const lateMs = tookMs - TIMEOUT_S * 1_000;
        return unless(
          state !== "STUCK" && lateMs <= 2_000 + slackMs,
          `${state} ${(lateMs / 1e3).toFixed(1)} s after its timeout`,
        );
      }),
      ...unless(
        other.state === "SUCCESS" && other.tookMs <= otherLimitMs,
        `the other action: ${other.state} after ${other.tookMs.toFixed(0)} ms, ${alone.tookMs.toFixed(0)} ms alone`,
      ),
      ...unless(loggedBytes <= MOST_LOG_BYTES, `${(loggedBytes / 1e6).toFixed(0)} MB in the worker's log`),
      ...unless(
        latency <= PROBE_MS,
        `/healthz took ${latency.toFixed(0)} ms at 99 %, a probe waits ${PROBE_MS} ms`,
      ),
    ];
  },
};
