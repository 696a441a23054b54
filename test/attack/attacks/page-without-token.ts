import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { WorkerProgram } from "../../support/worker-program.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const PATHS = [
  "/",
  "/actions",
  "/agent-ids",
  "/status.json",
  "/metrics",
  "/events?of=/",
  "/machines/node-1",
  "/nothing",
];

export const attack: Attack = {
  tries:
    "a worker serves its pages to the network; a client without a token, or with nearly the right one, reads them",
  holds:
    "without authentication it does not start; with it nothing but health is served, without its reasons",
  async run(setting) {
    await using open = new WorkerProgram([
      ...["start", "--grpc-server", "127.0.0.1:1", "--agent-id", "a", "--http-address", "0.0.0.0:0"],
    ]);
    const end = await Promise.race([open.ended, sleep(15_000, "runs")]);
    const refused = typeof end === "object" && end.code === 2;
    // A worker that does not know the flags would not start, and nothing would be found out about it.
    if (!refused) return ["it serves an address of the network without authentication"];
    await using folder = await mkdtempDisposable(join(tmpdir(), "pbnj-attack-token-"));
    const tokenFile = join(folder.path, "token");
    await writeFile(tokenFile, TOKEN, { mode: 0o600 });
    await using lab = await openLab({
      setting,
      argv: ["--http-address", "127.0.0.1:0", "--http-token-file", tokenFile],
    });
    const url = await lab.url();
    const statusOf = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
      (await fetch(`${url}${path}`, { headers })).status;
    const wrong = [
      {},
      { authorization: `Bearer ${TOKEN.slice(1)}` },
      { authorization: `Bearer ${TOKEN}x` },
      { authorization: "Basic Og==" },
      { "x-auth-token": TOKEN },
      { cookie: `token=${TOKEN}` },
    ];
    const reasons: string[] = [];
    for (const path of PATHS) {
      for (const headers of wrong) {
        const status = await statusOf(path, headers);
        reasons.push(...unless(status === 401, `${path} answers ${status} to ${JSON.stringify(headers)}`));
      }
    }
    const health = await (await fetch(`${url}/readyz`)).text();

    return [
      ...reasons,
      ...unless(
        (await statusOf("/", { authorization: `Bearer ${TOKEN}` })) === 200,
        "the right token is refused",
      ),
      ...unless((await statusOf("/healthz")) === 200, "a probe is refused"),
      ...unless(!health.includes("reason"), "health shows reasons"),
    ];
  },
};
