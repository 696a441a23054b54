import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, unless } from "../attack.ts";
import { megabytesOf, openLab } from "../lab.ts";
import { PBNJ_API } from "../policy.ts";

const CONNECTIONS = 250;
const STREAMS = 100;
const LASTS_MS = 10_000;
/** What a container of a worker may have, less what a quiet one takes. */
const MOST_MB = 250;

export const attack: Attack = {
  tries: `${CONNECTIONS} connections to PBnJ's API open ${STREAMS} streams each of Health/Watch, which needs no credentials, and read nothing`,
  holds: `the worker takes less than ${MOST_MB} MB more, and an action runs meanwhile`,
  async run(setting) {
    await using lab = await openLab({ setting, argv: ["--http-address", "127.0.0.1:0", ...PBNJ_API] });
    const url = String((await lab.worker.untilLogged("serving PBnJ's API"))["url"]);
    const before = await megabytesOf(lab.worker.child.pid);
    const sessions: ClientHttp2Session[] = [];
    let opened = 0;
    for (let count = 0; count < CONNECTIONS; count += 1) {
      const session = connect(url).on("error", () => undefined);
      sessions.push(session);
      await once(session, "connect");
      for (let stream = 0; stream < STREAMS; stream += 1) {
        watch(session).once("response", () => {
          opened += 1;
        });
      }
    }
    const [{ state }] = await Promise.all([
      lab.run("node-1", { name: "power-off", environment: { MODE: "hard" } }),
      sleep(LASTS_MS),
    ]);
    const grownBy = (await megabytesOf(lab.worker.child.pid)) - before;
    for (const session of sessions) session.destroy();

    return [
      ...unless(opened > 0, "no stream was served: the attack shows nothing"),
      ...unless(grownBy <= MOST_MB, `${grownBy.toFixed(0)} MB more`),
      ...unless(state === "SUCCESS", `the action: ${state}`),
      ...unless(lab.worker.child.exitCode === null, "the worker ended"),
    ];
  },
};

function watch(session: ClientHttp2Session): ClientHttp2Stream {
  const path = "/grpc.health.v1.Health/Watch";
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  stream.on("error", () => undefined);
  // An empty message.
  stream.end(Buffer.alloc(5));
  return stream;
}
