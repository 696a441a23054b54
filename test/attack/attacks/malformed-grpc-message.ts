import { once } from "node:events";
import { createServer } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import { type Attack, unless } from "../attack.ts";
import { openLab } from "../lab.ts";

const MESSAGES = ["%ZZ%", "%", "%E0%A4", "%00%ff", "%".repeat(5_000)];

/** A worker waits longer after each refusal. */
const ENOUGH = 3;

export const attack: Attack = {
  tries: "a tink server refuses polls with a grpc-message whose percent-encoding is broken",
  holds: "the status code survives, and nothing is logged that is not printable",
  async run(setting) {
    let asked = 0;
    const server = createServer();
    server.on("session", (session) => session.on("error", () => undefined));
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      const headers = { ":status": 200, "content-type": "application/grpc+proto", "grpc-status": "7" };
      stream.respond(
        { ...headers, "grpc-message": MESSAGES[asked++ % MESSAGES.length] ?? "" },
        { endStream: true },
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") return ["no address"];
    await using lab = await openLab({
      setting,
      serverAddress: `127.0.0.1:${address.port}`,
      argv: ["--http-address", "127.0.0.1:0", "--grpc-api", "current"],
    });
    const deadline = performance.now() + 20_000;
    while (asked < ENOUGH && performance.now() < deadline) await sleep(50);
    await sleep(300);
    const metrics = await lab.page("/metrics");
    const codes = [...metrics.matchAll(/^pbnj_polls\w*\{[^}]*code="(\w+)"[^}]*\} [1-9]/gm)].map(
      ([, code]) => code,
    );
    server.close();

    return [
      ...unless(asked >= ENOUGH, `${asked} polls in 20 s`),
      ...unless(
        codes.length > 0 && codes.every((code) => code === "PermissionDenied"),
        `polls count as ${[...new Set(codes)].join(", ") || "nothing"}`,
      ),
    ];
  },
};
