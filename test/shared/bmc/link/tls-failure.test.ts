import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { MESSAGE_LIMIT } from "../../../../shared/contract/result.ts";
import { startAmtDevice } from "../../../../simulators/amt/device.ts";
import { createCertificate } from "../../../../simulators/certificate.ts";
import { startHomeAssistant } from "../../../../simulators/homeassistant/server.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { startRpcConsumer } from "../../../../simulators/rpc/consumer.ts";
import { startTcpProxy } from "../../../support/proxy/tcp-proxy.ts";
import { recordingLogger } from "../providers/ipmi/bench.ts";
import { clientOf, errorOf, signal } from "../service-lab.ts";

const OTHER_PIN = "ab".repeat(32);
const elsewhere = { altNames: ["192.0.2.1"] };
const DAY_MS = 86_400_000;

/** One machine behind a Redfish BMC with TLS and an IPMI BMC. */
async function twoWays(certificate?: Parameters<typeof createCertificate>[0]) {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({
    machines: [machine],
    ...(certificate ? { tls: createCertificate(certificate) } : {}),
  });
  const ipmi = await startIpmiBmc({ machine });
  onTestFinished(async () => {
    await redfish.close();
    await ipmi.close();
  });
  const connection = (tls: Record<string, unknown> = {}, more: Record<string, unknown> = {}) => ({
    ...{ host: "127.0.0.1", username: "admin", password: "calvin", providers: ["redfish", "ipmi"] },
    ...{ redfish: { port: redfish.port }, ipmi: { port: ipmi.port }, tls },
    ...more,
  });
  return { redfish, ipmi, connection };
}

describe("a TLS failure of the preferred provider", () => {
  it.each([
    ["another fingerprint than the pinned one", undefined, { fingerprint: OTHER_PIN }],
    ["an unknown authority", undefined, {}],
    ["a certificate for another host", { commonName: "bmc", ...elsewhere }, "own authority"],
    [
      "an expired certificate",
      { commonName: "bmc", altNames: ["127.0.0.1"], notAfter: new Date(Date.now() - DAY_MS) },
      "own authority",
    ],
  ] as const)("by %s ends the race: nothing is done by IPMI", async (_, certificate, trust) => {
    const lab = await twoWays(certificate && { ...certificate, notBefore: new Date("2020-01-01") });
    const tls = trust === "own authority" ? { ca: lab.redfish.certificate?.cert } : trust;
    await using client = clientOf(lab.connection(tls));

    const error = await errorOf(client.getPower(signal));

    expect(error.class).toBe("tls");
    expect(error.message).toMatch(/^redfish: [^\n]+$/);
    expect(client.provider).toBeUndefined();
    // Only the time is asked for, without credentials.
    expect(lab.redfish.requests.filter(({ path }) => path !== "/")).toEqual([]);
    expect(lab.ipmi.log).not.toContain("Get Chassis Status");
  });

  it("ends the race of AMT over TLS and IPMI", async () => {
    const { ipmi, connection } = await twoWays();
    const device = await startAmtDevice();
    onTestFinished(() => device.close());
    const far = await startTcpProxy({ port: device.http.port, latencyMs: 100 });
    onTestFinished(() => far.close());
    const amt = { scheme: "https", port: far.port };
    await using client = clientOf(connection({}, { amt, providers: ["amt", "ipmi"], headStartMs: 20_000 }));

    expect((await errorOf(client.getPower(signal))).class).toBe("tls");
    expect(ipmi.log).not.toContain("Get Chassis Status");
  });

  it("ends the race where the port answers and speaks no TLS, which an attacker in the middle can do as well", async () => {
    const { ipmi, connection } = await twoWays();
    await using plain = await startRedfishBmc({ tls: "http" });
    await using client = clientOf(connection({}, { redfish: { port: plain.port } }));

    const error = await errorOf(client.getPower(signal));

    expect(error.class).toBe("tls");
    expect(error.message).toMatch(/does not speak TLS on this port; .*: providers in the connection$/);
    expect(ipmi.log).not.toContain("Get Chassis Status");
  });

  it("ends the search after a provider that does not offer what is asked for", async () => {
    const { connection } = await twoWays();
    await using client = clientOf(connection({}, { providers: ["ipmi", "redfish"] }));

    const error = await errorOf(client.setBoot({ device: "usb", persistent: false, mode: "keep" }, signal));

    expect(error.class).toBe("tls");
  });

  it("ends the race for a client whose hint is older than the certificate", async () => {
    const { redfish, ipmi, connection } = await twoWays();
    const known = clientOf(connection({ fingerprint: redfish.fingerprint }));
    await known.getPower(signal);
    await known.close();
    const requests = redfish.requests.length;
    await using client = clientOf({ ...connection({ fingerprint: OTHER_PIN }), hint: known.hint });

    const error = await errorOf(client.setPower({ verb: "on", timeoutMs: 1_000 }, signal));

    expect(error.class).toBe("tls");
    expect(redfish.requests).toHaveLength(requests);
    expect(ipmi.log).not.toContain("Get Chassis Status");
  });

  it("falls back where the entry allows it, and says so in the log", async () => {
    const { connection } = await twoWays();
    const log = recordingLogger();
    const allowed = Connection.parse(connection({ fingerprint: OTHER_PIN, fallback: true }));
    const client = new BmcClient(allowed, { log });
    onTestFinished(() => client.close());

    expect(await client.getPower(signal)).toBe("on");

    expect(client.provider).toBe("ipmi");
    expect(log.lines).toContainEqual({
      fields: { provider: "redfish", reason: expect.stringContaining(OTHER_PIN) },
      message: "TLS failed, falling back to another provider as tls.fallback allows",
    });
  });
});

describe("the error of a certificate that is not accepted", () => {
  it("has the fingerprint seen, the pinned one, and the line that accepts it", async () => {
    const { redfish, connection } = await twoWays();
    const seen = redfish.fingerprint;
    await using client = clientOf(connection({ fingerprint: OTHER_PIN }));

    const { message } = await errorOf(client.getPower(signal));

    expect(message).toBe(
      `redfish: certificate fingerprint of 127.0.0.1:${redfish.port} is ${seen}, not the pinned ${OTHER_PIN}; ` +
        `if that is the BMC's own certificate, accept it with tls: {fingerprint: "${seen}"} in the connection`,
    );
    expect(message.length).toBeLessThan(MESSAGE_LIMIT);
    const line = parse(/tls: \{.*\}/.exec(message)?.[0] ?? "");
    await using accepted = clientOf(connection(line.tls));
    expect(await accepted.getPower(signal)).toBe("on");
  });

  it.each([
    ["amt", async () => startAmtDevice(), (port: number) => ({ amt: { scheme: "https", port } })],
    [
      "rpc",
      async () => startRpcConsumer(),
      (port: number) => ({ rpc: { url: `https://127.0.0.1:${port}/` } }),
    ],
    [
      "homeassistant",
      async () => startHomeAssistant(),
      (port: number) => ({ homeassistant: { url: `https://127.0.0.1:${port}`, entity: "switch.node_1" } }),
    ],
  ] as const)(
    "of %s has the fingerprint and the option for an authority, too",
    async (provider, start, ways) => {
      const server = await start();
      onTestFinished(() => server.close());
      const login = { host: "127.0.0.1", username: "admin", password: "calvin", providers: [provider] };
      await using client = clientOf({ ...login, ...ways(server.http.port) });

      const error = await errorOf(client.getPower(signal));

      expect(error.class).toBe("tls");
      expect(error.message).toContain(`self-signed certificate (fingerprint ${server.http.fingerprint})`);
      expect(error.message).toContain(`tls: {fingerprint: "${server.http.fingerprint}"}`);
      expect(error.message).toContain("to trust its CA, use tls: {ca: PEM} in the connection");
      expect(error.message.length).toBeLessThan(MESSAGE_LIMIT);
    },
  );
});
