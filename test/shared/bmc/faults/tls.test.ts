import { createServer } from "node:tls";
import { describe, expect, test } from "vitest";
import { createCertificate, fingerprintOf } from "../../../../simulators/certificate.ts";
import { fail, OFF } from "./attempt.ts";
import { redfishFaultLab } from "./redfish-lab.ts";

const selfSigned = createCertificate({ commonName: "BMC", altNames: ["127.0.0.1"] });
const impostors = createCertificate({ commonName: "BMC", altNames: ["127.0.0.1"] });

/** An attacker with another certificate who keeps every byte that he can decrypt. */
async function impostor() {
  const received: Buffer[] = [];
  let connections = 0;
  const server = createServer(impostors, (socket) => {
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", () => undefined);
  });
  server.on("connection", () => {
    connections += 1;
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    text: () => Buffer.concat(received).toString("latin1"),
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

describe.concurrent("TLS", () => {
  test("with an attacker who takes over in mid-operation sends him nothing: tls", async () => {
    await using lab = await redfishFaultLab({
      machine: { power: "on" },
      bmc: { tls: selfSigned },
      redfish: { auth: "session" },
      tls: { fingerprint: fingerprintOf(selfSigned) },
    });
    await using other = await impostor();
    lab.machine.once("command", () => {
      lab.proxy.cut();
      lab.proxy.restore(other.port);
      lab.bmc.sessions.expireAll();
    });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("tls");
    expect(other.connections()).toBeGreaterThan(0);
    expect(other.text()).toBe("");
    expect(lab.done()).toEqual(["off"]);
  });
});
