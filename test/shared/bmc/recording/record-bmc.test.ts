import { describe, expect, it, onTestFinished } from "vitest";
import type { RecordingLimits } from "../../../../shared/bmc/recording/read-tree.ts";
import { recordBmc } from "../../../../shared/bmc/recording/record-bmc.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { Anonymiser } from "../../../../shared/recording/anonymise.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import { startAmtDevice } from "../../../../simulators/amt/device.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startRecording } from "../../../../simulators/recorded/start-recording.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { redfishConnection } from "../../../support/bmc-lab.ts";

const LIMITS: RecordingLimits = { requests: 1_000, bytes: 10_000_000, ms: 60_000 };

async function recordSimulated(
  options: RedfishBmcOptions = {},
  limits: Partial<RecordingLimits> = {},
  given = {},
) {
  const bmc = await startRedfishBmc({ profile: "dell-idrac9", tls: "http", ...options });
  onTestFinished(() => bmc.close());
  const connection = Connection.parse(redfishConnection(bmc.port, given));
  const reading = recordBmc(connection, {
    limits: { ...LIMITS, ...limits },
    log: silentLogger,
    signal: AbortSignal.timeout(60_000),
    progress: () => undefined,
  });
  const read = () =>
    reading.then((done) => done.anonymous(new Anonymiser(redactor({ connection })), connection));
  return { bmc, read };
}

describe("a recording of a BMC", () => {
  it("has the tree and the registry that the BIOS needs, and neither schemas nor other registries", async () => {
    const { read } = await recordSimulated();

    const { resources, refusals, unread, vendor, bmcFirmware } = await read();

    expect({ vendor, bmcFirmware, refusals, unread }).toEqual({
      vendor: "Dell Inc.",
      bmcFirmware: "6.10.80.00",
    });
    const paths = Object.keys(resources);
    expect(paths).toContain("/redfish/v1/Systems/System.Embedded.1/Bios/Settings");
    expect(paths.filter((path) => path.includes("/Registries/"))).toEqual([
      "/redfish/v1/Registries/BiosAttributeRegistry",
      "/redfish/v1/Registries/BiosAttributeRegistry/BiosAttributeRegistry.v1_0_0.json",
    ]);
  });

  it("is made without a write, and leaves no session", async () => {
    const { bmc, read } = await recordSimulated({ basic: false });

    await read();

    const writes = bmc.log.filter((line) => !line.startsWith("GET "));
    expect(writes).toEqual([
      "POST /redfish/v1/SessionService/Sessions",
      "DELETE /redfish/v1/SessionService/Sessions/1",
    ]);
    expect(bmc.sessions.count).toBe(0);
  });

  it("takes two connections", async () => {
    const { bmc, read } = await recordSimulated({ latencyMs: 2 });

    await read();

    expect(bmc.connections).toBe(2);
  });

  it("joins the pages of a collection", async () => {
    const { read } = await recordSimulated({ profile: "openbmc" });

    const { resources } = await read();

    expect(JSON.stringify(resources)).not.toContain("nextLink");
  });

  it.each([
    ["requests", { requests: 10 }],
    ["bytes", { bytes: 2_000 }],
    ["time", { ms: 1 }],
  ])("ends at its limit of %s, and says so", async (_, limits) => {
    const { bmc, read } = await recordSimulated({ latencyMs: 2 }, limits);

    const { unread } = await read();

    expect(unread).toEqual([
      { path: expect.any(String), reason: expect.stringMatching(/^limit of .*not read$/) },
    ]);
    expect(bmc.log.length).toBeLessThan(40);
  });

  it("ends at its limit over IPMI, and says what it did not read", async () => {
    const machine = new SimulatedMachine();
    await using bmc = await startIpmiBmc({ machine, users: [{ name: "admin", password: "calvin" }] });
    const connection = Connection.parse({
      ...{ host: "127.0.0.1", username: "admin", password: "calvin", providers: ["ipmi"] },
      ipmi: { port: bmc.port },
    });

    const { ipmi, failures } = await recordBmc(connection, {
      limits: { ...LIMITS, requests: 10 },
      log: silentLogger,
      signal: AbortSignal.timeout(60_000),
      progress: () => undefined,
    });

    expect(ipmi?.commands.length).toBeLessThan(20);
    expect(failures).toEqual([
      expect.stringMatching(/^ipmi: a limit was reached before .*the event log, sensors$/),
    ]);
  });

  it("has all cipher suites, which its replay lists and grants as the BMC does", async () => {
    // More than one part, with an OEM record; the last part is a whole one.
    const suiteRecords = Buffer.from(
      `${"c003014181".repeat(2)}${"c1814c1d00024281".repeat(2)}c000000000${"40"}`,
      "hex",
    );
    const machine = new SimulatedMachine();
    const users = [{ name: "admin", password: "calvin" }];
    await using bmc = await startIpmiBmc({
      machine,
      users,
      cipherSuites: [3],
      cipherSuiteRecords: suiteRecords,
    });
    const connection = (port: number, username: string, allowSuite3 = true) =>
      Connection.parse({
        ...{ host: "127.0.0.1", username, password: "calvin", providers: ["ipmi"] },
        ipmi: { port, allowSuite3 },
      });
    const record = async (given: Connection) => {
      const signal = AbortSignal.timeout(60_000);
      const options = { limits: LIMITS, log: silentLogger, signal, progress: () => undefined };
      const reading = await recordBmc(given, options);
      return reading.anonymous(new Anonymiser(redactor({ connection: given })), given);
    };

    const recording = await record(connection(bmc.port, "admin"));
    await using replayed = await startRecording(recording, { password: "calvin" });
    const again = await record(connection(replayed.ipmi?.port ?? 0, replayed.username));

    expect(recording.ipmi?.cipherSuites).toBe(suiteRecords.toString("hex"));
    expect(again.ipmi?.cipherSuites).toBe(suiteRecords.toString("hex"));
    expect(bmc.log.filter((name) => name === "Get Channel Cipher Suites")).toHaveLength(3);
    await expect(record(connection(replayed.ipmi?.port ?? 0, replayed.username, false))).rejects.toThrow(
      "offers cipher suite 3 and not 17",
    );
  });

  it("is made over AMT without a write, one request at a time, within its limit", async () => {
    const device = await startAmtDevice({ tls: "http", consent: "unknown-to-it" });
    onTestFinished(() => device.close());
    const connection = Connection.parse({
      ...{ host: "127.0.0.1", username: "admin", password: "P@ssw0rd", providers: ["amt"] },
      amt: { port: device.http.port, scheme: "http" },
    });
    const record = (requests: number) =>
      recordBmc(connection, {
        ...{ limits: { ...LIMITS, requests }, log: silentLogger, progress: () => undefined },
        signal: AbortSignal.timeout(60_000),
      });

    const whole = await record(100);
    const asked = device.operations.splice(0);
    const cut = await record(6);

    expect(whole).toMatchObject({ failures: [], amt: { unread: [] } });
    expect(Object.keys(whole.amt?.classes ?? {})).toEqual([
      ...["CIM_AssociatedPowerManagementService", "AMT_BootSettingData"],
      ...["CIM_ElementSettingData", "CIM_OrderedComponent"],
    ]);
    expect(whole.amt?.refused).toMatchObject({
      "Get IPS_OptInService": { subcode: "DestinationUnreachable" },
    });
    expect(asked.filter((operation) => !/^(Get|Enumerate|Pull) /.test(operation))).toEqual([]);
    expect(device.operations.length).toBeLessThan(7);
    expect(cut.failures).toEqual([expect.stringMatching(/^amt: .*boot sources: a limit was reached/)]);
  });

  it("sends a refused password once over AMT", async () => {
    const device = await startAmtDevice({ tls: "http" });
    onTestFinished(() => device.close());
    const connection = Connection.parse({
      ...{ host: "127.0.0.1", username: "admin", password: "wrong", providers: ["amt", "ipmi"] },
      amt: { port: device.http.port, scheme: "http" },
    });

    const reading = recordBmc(connection, {
      ...{ limits: LIMITS, log: silentLogger, progress: () => undefined },
      signal: AbortSignal.timeout(60_000),
    });

    await expect(reading).rejects.toMatchObject({ class: "auth" });
    expect(device.guard.refused).toBe(1);
  });

  it("keeps what the BMC refuses to show, and goes on", async () => {
    const { bmc, read } = await recordSimulated();
    bmc.fail({ kind: "refuse", status: 500, messageId: "Base.1.8.InternalError", path: /\/Memory$/ });

    const { refusals, resources } = await read();

    expect(refusals).toMatchObject({ "/redfish/v1/Systems/System.Embedded.1/Memory": { status: 500 } });
    expect(JSON.stringify(refusals)).toContain("Base.1.8.InternalError");
    expect(Object.keys(resources).length).toBeGreaterThan(50);
  });

  it("asks a busy BMC once more", async () => {
    const { bmc, read } = await recordSimulated();
    bmc.fail({ kind: "refuse", status: 503, retryAfter: "0", path: /\/Memory$/ });

    expect(await read()).not.toHaveProperty("refusals");
  });

  it("is not made of a service in front of a BMC", async () => {
    const connection = Connection.parse({
      ironic: { url: "http://127.0.0.1:9", node: "node-01", auth: "none" },
    });

    const reading = recordBmc(connection, {
      ...{ limits: LIMITS, log: silentLogger, progress: () => undefined },
      signal: AbortSignal.timeout(60_000),
    });

    await expect(reading).rejects.toMatchObject({
      class: "unsupported",
      message: "ironic cannot be recorded: record the BMC over redfish, ipmi or amt",
    });
  });

  it("sends a refused password once", async () => {
    const { bmc, read } = await recordSimulated({ password: "other" });

    await expect(read()).rejects.toMatchObject({ class: "auth" });

    expect(bmc.refusedCredentials).toBe(1);
  });
});
