import { exchange } from "../../worker/listener/http/raw-client.ts";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const HOSTS = [
  "attacker.example",
  "attacker.example:42180",
  "127.0.0.1.attacker.example",
  "localhost.attacker.example",
  "",
  "[::ffff:192.0.2.1]",
];
const PATHS = ["/", "/status.json", "/metrics", "/events?of=/", "/healthz"];

export const attack: Attack = {
  tries:
    "a web page whose name was pointed to 127.0.0.1 reads the worker's pages through a visitor's browser",
  holds: "every path answers 403, and no answer allows another origin to read it",
  async run(setting) {
    await using lab = await openLab({ setting });
    const { hostname: host, port } = new URL(await lab.url());
    const reasons: string[] = [];
    for (const name of HOSTS) {
      for (const path of PATHS) {
        const text = `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nOrigin: http://attacker.example\r\nConnection: close\r\n\r\n`;
        const answer = await exchange({ host, port: Number(port) }, text);
        reasons.push(
          ...unless(answer.startsWith("HTTP/1.1 403"), `${name} ${path}: ${answer.split("\r\n")[0]}`),
        );
        reasons.push(
          ...unless(!/access-control-allow/i.test(answer), `${name} ${path}: another origin may read it`),
        );
      }
    }
    return reasons;
  },
};
