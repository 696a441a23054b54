import { describe, expect, test } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { Secret } from "../../../../shared/secret.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { redfishConnection, redfishLab } from "../../../support/bmc-lab.ts";

const signal = new AbortController().signal;
const ISO = "http://192.0.2.9/rescue.iso";
const OTHER_ISO = "http://192.0.2.9/other.iso";

/** One machine whose BMC answers Redfish and IPMI, as real ones do. */
async function dualLab() {
  const machine = new SimulatedMachine();
  const users = [{ name: "admin", password: "calvin" }];
  const ipmi = await startIpmiBmc({ machine, users });
  const lab = await redfishLab({}, { machines: [machine] });
  const connection = Connection.parse({
    ...redfishConnection(lab.bmc.port),
    providers: ["redfish", "ipmi"],
    ipmi: { port: ipmi.port, privilege: "administrator" },
  });
  const client = new BmcClient(connection);
  return {
    client,
    machine,
    ipmi,
    async [Symbol.asyncDispose]() {
      await client.close();
      await lab[Symbol.asyncDispose]();
      await ipmi.close();
    },
  };
}

test("boot order and power limit are read", async () => {
  await using lab = await redfishLab();
  const { client } = lab;
  await client.setBootOrder(["Boot0003"], signal);
  await client.setPowerLimit(250, signal);

  expect((await client.getBootOrder(signal)).map(({ id }) => id)).toEqual([
    "Boot0003",
    "Boot0001",
    "Boot0002",
  ]);
  expect(await client.getPowerLimit(signal)).toMatchObject({ watts: 250 });
});

describe("virtual media", () => {
  test("is inserted after what was there is ejected, and read back", async () => {
    await using lab = await redfishLab();
    await lab.client.insertMedia(OTHER_ISO, signal);

    const report = await lab.client.insertMedia(ISO, signal);

    expect(report).toMatchObject({
      before: { inserted: true, image: OTHER_ISO },
      after: { inserted: true, image: ISO },
      summary: `media ${ISO} inserted`,
    });
    expect(await lab.client.getMedia(signal)).toMatchObject({ inserted: true, image: ISO });
  });

  test("is ejected, and an empty drive is success", async () => {
    await using lab = await redfishLab();
    await lab.client.insertMedia(ISO, signal);

    const first = await lab.client.ejectMedia(signal);
    const second = await lab.client.ejectMedia(signal);

    expect(first).toMatchObject({ changed: true, summary: "media ejected" });
    expect(second).toMatchObject({ changed: false, summary: "media already ejected" });
  });
});

describe("users", () => {
  test("are created, changed by the same call, and deleted; a missing one is deleted already", async () => {
    await using lab = await redfishLab();
    const password = new Secret("correct-horse");

    const created = await lab.client.putUser({ name: "eve", password, role: "operator" }, signal);
    const changed = await lab.client.putUser({ name: "eve", role: "readonly" }, signal);
    const listed = await lab.client.listUsers(signal);
    const deleted = await lab.client.deleteUser("eve", signal);
    const again = await lab.client.deleteUser("eve", signal);

    expect([created.summary, changed.summary]).toEqual([
      "user eve created as operator, its password works",
      "user eve updated as readonly",
    ]);
    expect(listed).toContainEqual(expect.objectContaining({ name: "eve", role: "readonly" }));
    expect([deleted, again]).toEqual([
      expect.objectContaining({ changed: true, summary: "user eve deleted" }),
      { changed: false, summary: "user eve already absent" },
    ]);
  });

  test("a new one needs a password and a role, and the connection's own is not deleted", async () => {
    await using lab = await redfishLab();

    await expect(lab.client.putUser({ name: "eve" }, signal)).rejects.toMatchObject({ class: "usage" });
    await expect(lab.client.deleteUser("admin", signal)).rejects.toMatchObject({ class: "usage" });
    expect(lab.bmc.log.filter((line) => !line.startsWith("GET"))).toEqual([]);
  });
});

test("NTP servers are set and read back, and nothing is sent when they are so already", async () => {
  await using lab = await redfishLab();
  const settings = { enabled: true, servers: ["192.0.2.1", "192.0.2.2"] };

  const first = await lab.client.setNtp(settings, signal);
  const writes = lab.bmc.log.filter((line) => line.startsWith("PATCH")).length;
  const second = await lab.client.setNtp(settings, signal);

  expect(first).toMatchObject({ changed: true, after: settings, summary: "NTP on (192.0.2.1, 192.0.2.2)" });
  expect(second.changed).toBe(false);
  expect(lab.bmc.log.filter((line) => line.startsWith("PATCH"))).toHaveLength(writes);
});

test("the BMC is reset, and answers again before that is called done", async () => {
  await using lab = await redfishLab({}, { restartMs: 200 });

  const report = await lab.client.resetManager("warm", 120_000, signal);

  expect(report.summary).toMatch(/^BMC reset \(warm\), answers again after \d/);
  expect(lab.bmc.log.filter((line) => line.startsWith("POST"))).toHaveLength(1);
});

test("an NMI reaches a machine that is on, once, and is refused for one that is off", async () => {
  await using on = await redfishLab({ power: "on" });
  await using off = await redfishLab({ power: "off" });

  await on.client.sendNmi(signal);

  await expect(off.client.sendNmi(signal)).rejects.toMatchObject({ class: "state" });
  expect(on.machine.count("nmi")).toBe(1);
  expect(off.machine.commands).toEqual([]);
});

test("information and hardware are read", async () => {
  await using lab = await redfishLab();

  const info = await lab.client.getInfo(signal);
  const hardware = await lab.client.getHardware(signal);
  const clockMs = await lab.client.getClock(signal);

  expect(info.firmware).toMatch(/\d/);
  expect(hardware.nics.some(({ mac }) => mac !== undefined)).toBe(true);
  expect(Math.abs((clockMs ?? 0) - Date.now())).toBeLessThan(86_400_000);
});

test("the event log is cleared of every earlier entry", async () => {
  await using lab = await redfishLab();
  lab.bmc.sel.add("OK", "Fan 1 runs.");
  lab.bmc.sel.add("Critical", "Fan 1 has stopped.");

  const listed = await lab.client.listSel(signal);
  const first = await lab.client.clearSel(signal);
  const second = await lab.client.clearSel(signal);

  expect(listed.map(({ message }) => message)).toEqual(["Fan 1 runs.", "Fan 1 has stopped."]);
  expect(first).toEqual({ changed: true, summary: "event log cleared of 2 entries" });
  expect(second).toEqual({ changed: false, summary: "event log already empty" });
});

describe("what the first provider cannot do", () => {
  test("is done by the next one, while the session of the first is kept", async () => {
    await using lab = await dualLab();
    await lab.client.getPower(signal);

    await lab.client.deactivateSol(signal);
    const through = lab.client.provider;
    await lab.client.getPower(signal);

    expect(through).toBe("ipmi");
    expect(lab.client.provider).toBe("redfish");
  });

  test("is unsupported with every reason when none can, before anything is changed", async () => {
    await using lab = await dualLab();

    const setting = lab.client.setBoot({ device: "safe", persistent: false, mode: "keep" }, signal);

    // IPMI has a safe mode, Redfish's generic BMC has none.
    await expect(setting).resolves.toMatchObject({ after: { device: "safe" } });
    await expect(lab.client.takeScreenshot(signal)).rejects.toMatchObject({ class: "unsupported" });
  });

  test("is unsupported at once when no provider of the machine has it", async () => {
    await using lab = await redfishLab();

    await expect(lab.client.deactivateSol(signal)).rejects.toMatchObject({
      class: "unsupported",
      message: "redfish has no serial-over-LAN session",
    });
    expect(lab.bmc.log).toEqual([]);
  });
});
