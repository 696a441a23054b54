import { setTimeout as sleep } from "node:timers/promises";
import { RawClient } from "../../worker/listener/http/raw-client.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";
import { PBNJ_API } from "../policy.ts";

const CLIENTS = 600;
const WITHIN_MS = 2_000;
const CHECK = "/grpc.health.v1.Health/Check";
const SAID = [
  "PRI * HT",
  `POST ${CHECK} HTTP/1.1\r\nHost: localhost\r\nX-Slow: `,
  `POST ${CHECK} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{`,
];

export const attack: Attack = {
  tries: `${CLIENTS} clients of PBnJ's API send an HTTP/2 preface, headers or a message one character at a time`,
  holds: `a call is answered within ${WITHIN_MS / 1_000} s, and an action runs meanwhile`,
  async run(setting) {
    await using lab = await openLab({
      setting,
      argv: ["--http-address", "127.0.0.1:0", ...PBNJ_API],
    });
    const url = String((await lab.worker.untilLogged("serving PBnJ's API"))["url"]);
    const { hostname: host, port } = new URL(url);
    const clients: RawClient[] = [];
    for (let index = 0; index < CLIENTS; index += 1) {
      const client = await RawClient.open({ host, port: Number(port) });
      client.say(SAID[index % SAID.length] ?? "");
      clients.push(client);
    }
    const working = lab.run("node-1", { name: "power-off", environment: { MODE: "hard" } });
    let slowest = 0;
    const answers = new Set<number>();
    for (let probe = 0; probe < 10; probe += 1) {
      for (const client of clients) client.socket.write("x");
      const from = performance.now();
      const { status } = await fetch(`${url}${CHECK}`, {
        ...{ method: "POST", body: "{}", headers: { "content-type": "application/json" } },
      });
      answers.add(status);
      slowest = Math.max(slowest, performance.now() - from);
      await sleep(100);
    }
    const { state } = await working;
    await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));

    return [
      ...unless(slowest <= WITHIN_MS, `a call took ${slowest.toFixed(0)} ms`),
      ...unless([...answers].join() === "200", `calls got ${[...answers].join()}`),
      ...unless(state === "SUCCESS", `the action: ${state}`),
    ];
  },
};
