import { setTimeout as sleep } from "node:timers/promises";
import { RawClient } from "../../worker/listener/http/raw-client.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const VISITORS = 400;
const WITHIN_MS = 2_000;

export const attack: Attack = {
  tries: `${VISITORS} visitors send their headers one character at a time, and ask for streams that they do not read`,
  holds: `/healthz answers within ${WITHIN_MS / 1_000} s, or three times what it took before, and an action runs meanwhile`,
  async run(setting) {
    await using lab = await openLab({ setting });
    const { hostname: host, port } = new URL(await lab.url());
    const visitors: RawClient[] = [];
    /** The slowest of ten answers, while an action runs. */
    const probe = async () => {
      const working = lab.run("node-1", { name: "power-off", environment: { MODE: "hard" } });
      let slowestMs = 0;
      for (let probed = 0; probed < 10; probed += 1) {
        for (const visitor of visitors) visitor.socket.write("x");
        const from = performance.now();
        await lab.page("/healthz");
        slowestMs = Math.max(slowestMs, performance.now() - from);
        await sleep(100);
      }
      return { slowestMs, state: (await working).state };
    };
    const before = await probe();
    for (let index = 0; index < VISITORS; index += 1) {
      const visitor = await RawClient.open({ host, port: Number(port) });
      visitor.socket.pause();
      visitor.say(
        index % 2 === 0
          ? "GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
          : "GET /events?of=/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
      );
      visitors.push(visitor);
    }
    const { slowestMs, state } = await probe();
    await Promise.all(visitors.map((visitor) => visitor[Symbol.asyncDispose]()));

    return [
      ...unless(
        slowestMs <= Math.max(WITHIN_MS, 3 * before.slowestMs),
        `/healthz took ${slowestMs.toFixed(0)} ms, before ${before.slowestMs.toFixed(0)} ms`,
      ),
      ...unless(state === "SUCCESS", `the action: ${state}`),
    ];
  },
};
