import { createServer } from "node:tls";
import { describe, expect, test } from "vitest";
import { createCertificate, fingerprintOf } from "../../../../simulators/certificate.ts";
import { fail, OFF, succeed } from "./attempt.ts";
import { redfishFaultLab } from "./redfish-lab.ts";

const authority = createCertificate({ commonName: "Lab CA", authority: true });
const issued = createCertificate({ commonName: "BMC", altNames: ["127.0.0.1"], issuer: authority });
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
  test.each([
    ["of an authority that was given", issued, { ca: authority.cert }],
    ["with the pinned fingerprint", selfSigned, { fingerprint: fingerprintOf(selfSigned) }],
  ])("with a certificate %s: the operation is done once", async (_, certificate, tls) => {
    await using lab = await redfishFaultLab({ machine: { power: "on" }, bmc: { tls: certificate }, tls });

    await succeed((signal) => lab.client.setPower(OFF, signal));

    expect(lab.done()).toEqual(["off"]);
  });

  test.each([
    ["of an unknown authority", issued, {}],
    ["of another authority than the one given", selfSigned, { ca: authority.cert }],
    ["with another fingerprint", selfSigned, { fingerprint: fingerprintOf(impostors) }],
    [
      "of the right authority with another fingerprint",
      issued,
      { ca: authority.cert, fingerprint: fingerprintOf(impostors) },
    ],
  ])("with a certificate %s: tls, and the BMC sees no request", async (_, certificate, tls) => {
    await using lab = await redfishFaultLab({ machine: { power: "on" }, bmc: { tls: certificate }, tls });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error).toMatchObject({ class: "tls", uncertain: false });
    expect(lab.proxy.connections).toBe(1);
    expect(lab.bmc.requests).toEqual([]);
    expect(lab.done()).toEqual([]);
  });

  test("with the wrong fingerprint sends no byte of a request", async () => {
    await using lab = await redfishFaultLab({
      bmc: { tls: selfSigned },
      tls: { fingerprint: fingerprintOf(selfSigned) },
    });
    await using other = await impostor();
    lab.proxy.restore(other.port);

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error).toMatchObject({ class: "tls", message: expect.stringContaining("fingerprint") });
    expect(other.connections()).toBe(1);
    expect(other.text()).toBe("");
  });

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

  test("that the port does not speak: tls, and nothing but the handshake is sent", async () => {
    await using lab = await redfishFaultLab({ redfish: { scheme: "https" } });

    const error = await fail((signal) => lab.client.setPower(OFF, signal));

    expect(error.class).toBe("tls");
    expect(lab.bmc.requests).toEqual([]);
  });
});
