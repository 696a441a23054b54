import { writeFileSync } from "node:fs";
import http2 from "node:http2";
import { syncBuiltinESMExports } from "node:module";
import { type SocketTimes, WRITTEN_EVERY_MS } from "./written-times.ts";

/**
 * Loaded into the worker with `--import`. The query `file` of this module's URL names the file that it writes; the times are of
 * workflows whose names are those of the benchmark.
 */
const file = new URL(import.meta.url).searchParams.get("file") ?? "";
const answered = new Map<string, number>();
const reported = new Map<string, number>();

const note = (times: Map<string, number>, bytes: Uint8Array) => {
  const workflow = /wake-\d+-\d+/.exec(Buffer.from(bytes).toString("latin1"))?.[0];
  if (workflow !== undefined && !times.has(workflow)) times.set(workflow, performance.now());
};

const { connect } = http2;
http2.connect = ((...given: Parameters<typeof connect>) => {
  const session = connect(...given);
  const request = session.request.bind(session);
  session.request = (headers, options) => {
    const stream = request(headers, options);
    const path = String((headers as http2.OutgoingHttpHeaders | undefined)?.[":path"]);
    if (path.endsWith("/GetAction")) stream.on("data", (chunk: Buffer) => note(answered, chunk));
    if (path.endsWith("/ReportActionStatus")) {
      const end = stream.end.bind(stream) as (...rest: unknown[]) => typeof stream;
      stream.end = ((...rest: unknown[]) => {
        if (rest[0] instanceof Uint8Array) note(reported, rest[0]);
        return end(...rest);
      }) as typeof stream.end;
    }
    return stream;
  };
  return session;
}) as typeof connect;
syncBuiltinESMExports();

setInterval(() => {
  const times: SocketTimes = {
    answered: Object.fromEntries(answered),
    reported: Object.fromEntries(reported),
  };
  writeFileSync(file, JSON.stringify(times));
}, WRITTEN_EVERY_MS).unref();
