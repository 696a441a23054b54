import { exchange, requestText } from "../../worker/listener/http/raw-client.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const TARGETS = [
  "/../../../../etc/passwd",
  "/assets/../../../../etc/passwd",
  "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
  "/actions/..%2f..%2f..%2fetc%2fpasswd",
  "/machines/%00",
  "/machines/..",
  "/events?of=/../../etc/passwd",
  "/events?of=//attacker.example/",
  "//etc/passwd",
  "/\\etc\\passwd",
  "http://attacker.example/etc/passwd",
  `/${"../".repeat(1_000)}etc/passwd`,
];

export const attack: Attack = {
  tries: "paths lead out of the pages, to files of the host",
  holds: "no file is served, and the worker is healthy after it",
  async run(setting) {
    await using lab = await openLab({ setting });
    const { hostname: host, port } = new URL(await lab.url());
    const reasons: string[] = [];
    for (const target of TARGETS) {
      const answer = await Promise.race([
        exchange({ host, port: Number(port) }, requestText("GET", target)),
        new Promise<string>((resolve) => setTimeout(resolve, 1_000, "a stream")),
      ]);
      reasons.push(...unless(!/root:|nologin/.test(answer), `${target} serves a file`));
      reasons.push(...unless(!/^HTTP\/1.1 5/.test(answer), `${target}: ${answer.split("\r\n")[0]}`));
    }
    return [
      ...reasons,
      ...unless((await lab.page("/healthz")).includes('"ok": true'), "the worker is not healthy"),
    ];
  },
};
