import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, it, onTestFinished } from "vitest";
import { readOfferedSuites } from "../../shared/bmc/providers/ipmi/session/offered-suites.ts";
import { systemClock } from "../../shared/clock.ts";
import { Secret } from "../../shared/secret.ts";
import { writeFru } from "../../simulators/ipmi/fru.ts";
import { limit, openSession } from "../shared/bmc/providers/ipmi/bench.ts";
import { scaledClock } from "../support/scaled-clock.ts";
import { testFolder } from "../support/test-folder.ts";
import { EVERY_ACTION_MS, type Server } from "./compatibility/every-action.ts";
import { startIpmiSim } from "./ipmi-sim.ts";
import { describeWithProgram, findProgram } from "./programs.ts";
import { PEER_PASSWORD, tryRecordedActions } from "./recorded-peer.ts";

const USER = { username: "admin", password: "password", ipmi: { allowSuite3: true } };
const AS_ADMINISTRATOR = { ...USER, ipmi: { ...USER.ipmi, privilege: "administrator" } };

describeWithProgram("ipmi_sim", "the ipmi provider talks to OpenIPMI's ipmi_sim", () => {
  it("falls back to cipher suite 3 where that is allowed, and reads and changes power", async () => {
    const sim = await startIpmiSim();

    await expect(openSession(sim, { overrides: { ...USER, ipmi: {} } })).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("the BMC offers cipher suite 3 and not 17"),
    });
    await using session = await openSession(sim, { overrides: USER });
    expect(await session.power.read(limit())).toBe("off");
    await session.power.send("on", limit());
    expect(await session.power.read(limit())).toBe("on");
    await session.power.send("off", limit());
    expect(await session.power.read(limit())).toBe("off");

    expect(session.hint()).toEqual({ cipherSuite: 3 });
    expect(await sim.calls()).toContain("set power 1");
    expect(await sim.calls()).toContain("set power 0");
  });

  it("reads the list of cipher suites", async () => {
    const { port } = await startIpmiSim();
    const options = { host: "127.0.0.1", port, timeoutMs: 20_000, clock: systemClock };

    const records = await readOfferedSuites({ ...options, received: () => undefined }, limit());

    // ipmitool shows the suites 0 to 3, and more, by `channel getciphers ipmi`.
    expect(records.toString("hex")).toMatch(/^c000004080c001014080c002014180c003014181/);
  });

  it("stays within the packet budget with a remembered suite", async () => {
    const sim = await startIpmiSim();

    await using session = await openSession(sim, { overrides: USER, hint: { cipherSuite: 3 } });
    await session.power.read(limit());

    expect(session.roundTrips()).toBe(4);
  });

  it("sets the boot device although this BMC knows no expiry and does not report it as valid", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: USER });

    await session.boot.write({ device: "pxe", persistent: false, mode: "uefi" }, limit());

    expect(await sim.calls()).toContain("set boot pxe");
    expect(await session.boot.read(limit())).toBeUndefined();
  });

  it("gives a static address whole, also what is as in the lease that the BMC then forgets", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const { network } = session;
    const [empty] = (await network?.list(limit())) ?? [];
    if (!network || !empty) throw new Error("the network is missing");
    const lease = { ...empty, address: "192.0.2.11", prefix: 24, gateway: "192.0.2.1" };

    await network.write(
      { before: { ...lease, mode: "dhcp" }, target: { ...lease, mode: "static" } },
      limit(),
    );

    expect(empty).not.toHaveProperty("address");
    expect(await network.list(limit())).toEqual([{ ...lease, mode: "static" }]);
    // Other consoles are not locked out.
    expect(await ipmitool(sim.port, "lan print 1")).toMatch(/Set in Progress +: Set Complete/);
  });

  it("reads its FRU as ipmitool does", async () => {
    const fru = {
      vendor: "Example Corp",
      model: "Server 9",
      serial: "SYS-9",
      boardSerial: "BRD-9",
      chassisSerial: "CHS-9",
    };
    const sim = await startIpmiSim({ fru: writeFru(fru) });
    await using session = await openSession(sim, { overrides: USER });

    const { system, mainboard, chassis } = (await session.inventory?.read(limit())) ?? {};

    expect([system?.vendor, system?.model, system?.serial]).toEqual(["Example Corp", "Server 9", "SYS-9"]);
    expect([mainboard?.serial, chassis?.serial]).toEqual(["BRD-9", "CHS-9"]);
    const printed = await ipmitool(sim.port, "fru print 0");
    for (const text of Object.values(fru)) expect(printed).toContain(text);
  });

  it("says who it is, and lists and clears its event log", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const { manager, sel } = session;
    if (!manager || !sel) throw new Error("a driver is missing");

    expect(await manager.info(limit())).toMatchObject({ firmware: "9.08", protocolVersion: "2.0" });
    // Its clock was never set and counts from its start.
    expect(await manager.clockMs(limit())).toBeUndefined();
    await sel.clear(limit());
    expect(await sel.list(limit())).toEqual([]);
  });

  it("finds the restart in its log and says what it does not report, and that its clock was never set", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    await addEvents(sim.port, ["0x04 0x23 0x71 0x6f 0xc1 0x14 0xff", "0x04 0x1d 0x83 0x6f 0x01 0xff 0xff"]);
    const { powerhistory } = session;
    if (!powerhistory) throw new Error("the session has no power history");

    const facts = await powerhistory.facts(limit());
    const request = { resetMs: undefined, windowMs: 0, sensorNames: true };
    const { logs, unread } = await powerhistory.events(request, limit());

    expect(facts).toEqual({
      power: "off",
      unread: [{ name: "Get System Restart Cause", reason: expect.stringContaining("0xC1") }],
    });
    expect(logs[0]).toMatchObject([
      { kind: "watchdog", message: expect.stringContaining("hard reset (OS timer)") },
      { kind: "reset", message: expect.stringContaining("by hard reset"), proves: "restart" },
    ]);
    expect(logs[0]?.map(({ time }) => time)).toEqual([undefined, undefined]);
    expect(unread).toEqual([]);
  });

  it("reads its sensors out of its sensor data records", async () => {
    const sim = await startIpmiSim();
    await using session = await openSession(sim, { overrides: USER });

    expect(await session.sensors?.read(limit())).toEqual([
      {
        name: "CPU1 Temp",
        kind: "temperature",
        value: 48,
        unit: "°C",
        health: "ok",
        thresholds: { upperWarning: 85, upperCritical: 95 },
        entity: "system board 1",
      },
    ]);
  });

  it("makes, changes and removes a user", async () => {
    const sim = await startIpmiSim();
    await using administrator = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const { users } = administrator;
    if (!users) throw new Error("the session has no users");

    await users.create(
      { name: "worker", password: new Secret("worker-password"), role: "operator" },
      limit(),
    );
    const worker = (await users.list(limit())).find(({ name }) => name === "worker");
    expect(worker).toMatchObject({ role: "operator", enabled: true });
    const overrides = { ...USER, username: "worker", password: "worker-password" };
    await using session = await openSession(sim, { overrides });
    expect(await session.power.read(limit())).toBe("off");

    if (worker) await users.remove(worker, limit());
    await expect(openSession(sim, { overrides })).rejects.toMatchObject({ class: "auth" });
  });

  it("reads what a machine writes to its serial port, and writes nothing", async () => {
    const sim = await startIpmiSim();
    let written = "";
    sim.serial.on("data", (bytes) => {
      written += bytes;
    });
    const text = Array.from({ length: 200 }, (_, line) => `line ${line} of the firmware\r\n`).join("");
    await using session = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const done = new AbortController();
    let read = "";
    const watching = session.console?.watch(
      {
        opened: () => sim.serial.write(text),
        output: (bytes) => {
          read += Buffer.from(bytes).toString();
          if (read.length >= text.length) done.abort();
        },
        gap: () => undefined,
      },
      done.signal,
      limit(),
    );
    await watching;

    expect(read).toBe(text);
    expect(written).toBe("");
    // Released: the only instance can be activated again.
    expect(await session.console?.holder(limit())).toBeUndefined();
  });

  it("leaves the console to the session that has it, and takes it over when told", async () => {
    const sim = await startIpmiSim();
    // It sends no notice: the session finds out when it keeps itself alive.
    const overrides = { ...AS_ADMINISTRATOR, connectTimeoutMs: 120_000, requestTimeoutMs: 120_000 };
    await using owner = await openSession(sim, { overrides, clock: scaledClock(20) });
    await using other = await openSession(sim, { overrides: AS_ADMINISTRATOR });
    const opened = Promise.withResolvers<void>();
    const sink = { opened: () => opened.resolve(), output: () => undefined, gap: () => undefined };
    const watching = owner.console?.watch(sink, limit(), limit());
    watching?.catch(() => undefined);
    await opened.promise;

    // It does not say from where.
    expect(await other.console?.holder(limit())).toBe("another session");
    await expect(other.console?.watch(sink, limit(), limit())).rejects.toMatchObject({ class: "busy" });
    await other.console?.takeOver(limit());
    await expect(watching).rejects.toMatchObject({ class: "timeout" });
    expect(await other.console?.holder(limit())).toBeUndefined();
  });

  it("says that no controller answers behind it", async () => {
    const sim = await startIpmiSim();
    const ipmi = { ...USER.ipmi, bridge: { channel: 0, address: 0x72 } };
    await using session = await openSession(sim, { overrides: { ...USER, ipmi, requestTimeoutMs: 2_000 } });

    await expect(session.power.read(limit())).rejects.toMatchObject({ name: "BmcError" });
  });

  it("names a wrong password as such", async () => {
    const sim = await startIpmiSim();

    await expect(openSession(sim, { overrides: { ...USER, password: "wrong" } })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("wrong password"),
    });
  });

  it("names an unknown user as such", async () => {
    const sim = await startIpmiSim();

    await expect(openSession(sim, { overrides: { ...USER, username: "stranger" } })).rejects.toMatchObject({
      class: "auth",
    });
  });

  it("carries out each action or says why not, and so does its recording", {
    timeout: EVERY_ACTION_MS,
  }, async ({ task }) => {
    const { port, serial } = await startIpmiSim({ password: PEER_PASSWORD });
    const printed = "iPXE initialising devices\r\n";
    const printing = setInterval(() => serial.write(printed), 500);
    onTestFinished(() => clearInterval(printing));
    const server: Server = {
      provider: "ipmi",
      env: {
        ...{
          BMC_HOST: "127.0.0.1",
          BMC_USERNAME: "admin",
          BMC_PASSWORD: PEER_PASSWORD,
          BMC_PROVIDERS: "ipmi",
        },
        ...{ IPMI_PORT: String(port), IPMI_CIPHER_SUITE: "3", IPMI_PRIVILEGE: "administrator" },
      },
      // A replay would move to an address of this host, which ipmi_sim does not.
      inputs: { "set-bmc-network": { ADDRESS: "192.0.2.12/24", GATEWAY: "192.0.2.1" } },
    };

    const outcomes = await tryRecordedActions(server, { console: printed });

    task.meta.actions = { server: "ipmi_sim", outcomes };
  });

  it("uses up no session slots over thirty runs, failed ones included", async () => {
    const sim = await startIpmiSim();

    for (let run = 0; run < 30; run += 1) {
      if (run % 3 === 0) {
        const overrides = { ...USER, password: "wrong" };
        await expect(openSession(sim, { overrides })).rejects.toMatchObject({ class: "auth" });
      }
      await using session = await openSession(sim, { overrides: USER, hint: { cipherSuite: 3 } });
      expect(await session.power.read(limit())).toBe("off");
      await session.close();
    }
  });
});

/** Adds records to the log with ipmitool. */
async function addEvents(port: number, events: readonly string[]): Promise<void> {
  const { folder } = await testFolder();
  const file = join(folder, "events");
  await writeFile(file, `${events.join("\n")}\n`);
  await ipmitool(port, `sel add ${file}`);
}

async function ipmitool(port: number, command: string): Promise<string> {
  const where = ["-I", "lanplus", "-C", "3", "-H", "127.0.0.1", "-p", String(port), "-U", "admin", "-E"];
  const { stdout } = await execa(findProgram("ipmitool") ?? "ipmitool", [...where, ...command.split(" ")], {
    env: { IPMITOOL_PASSWORD: "password" },
  });
  return stdout;
}
