import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import type { IpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import {
  AS_ADMINISTRATOR,
  eventually,
  limit,
  openSession,
  startBmc,
} from "../shared/bmc/providers/ipmi/bench.ts";
import { describeWithProgram, findProgram } from "./programs.ts";

const SUITES = [3, 17] as const;
/** 2026-01-15T18:53:25Z, memory sensor 0x21, uncorrectable ECC error, module 3. */
const RECORD = Buffer.from("000002a5376969200004" + "0c216f31ff03", "hex");

async function ipmitool(bmc: IpmiBmc, suite: number, command: string) {
  const where = ["-I", "lanplus", "-H", bmc.host, "-p", String(bmc.port), "-N", "1", "-R", "3"];
  const who = ["-U", "admin", "-E", "-L", "ADMINISTRATOR", "-C", String(suite)];
  const env = { IPMITOOL_PASSWORD: "calvin", TZ: "UTC" };
  return execa("ipmitool", [...where, ...who, ...command.split(" ")], {
    env,
    reject: false,
    timeout: 25_000,
  });
}

describeWithProgram("ipmitool", "ipmitool's other commands with the simulated BMC", () => {
  it("logs in to a BMC that cuts the role byte of RAKP3, with its flag for it, as our client does", async () => {
    await using bmc = await startBmc({ rakp3Role: "level" });

    const plain = await ipmitool(bmc, 3, "chassis power status");
    const flagged = await ipmitool(bmc, 3, "-o intelplus chassis power status");

    expect([plain.exitCode === 0, flagged.stdout]).toEqual([false, "Chassis Power is off"]);
    await using session = await openSession(bmc, { overrides: { ipmi: { cipherSuite: 3 } } });
    expect(await session.power.read(limit())).toBe("off");
  });

  describe.each(SUITES)("and cipher suite %i", (suite) => {
    it("lists and clears the event log", async () => {
      await using bmc = await startBmc({ log: { records: [RECORD], erasureMs: 100 } });

      const listed = await ipmitool(bmc, suite, "sel list");
      const cleared = await ipmitool(bmc, suite, "sel clear");

      expect(listed.stdout).toMatch(
        /1 \| 01\/15\/(20)?26 \| 18:53:25( UTC)? \| Memory #0x21 \| Uncorrectable ECC/,
      );
      expect(cleared.exitCode).toBe(0);
      expect(bmc.events.size).toBe(0);
    });

    it("reads why the machine restarted, as our client does", async () => {
      await using bmc = await startBmc();
      Object.assign(bmc.machine, { restartCause: 4, lastPowerEvent: 0b10001 });
      await using session = await openSession(bmc);

      const cause = await ipmitool(bmc, suite, "chassis restart_cause");
      const status = await ipmitool(bmc, suite, "chassis status");

      expect(cause.stdout).toContain("watchdog expired");
      expect(status.stdout).toMatch(/Last Power Event +: ac-failed command/);
      expect(await session.powerhistory?.facts(limit())).toMatchObject({
        lastReset: { cause: "watchdog expired" },
        lastPowerEvent: ["AC failed", "powered on by an IPMI command"],
      });
    });

    it("reads the sensors as our client does", async () => {
      await using bmc = await startBmc();
      await using session = await openSession(bmc);

      const { stdout } = await ipmitool(bmc, suite, "sensor");
      const ours = (await session.sensors?.read(limit())) ?? [];

      expect(stdout).toMatch(
        /^Inlet Temp +\| 23\.000 +\| degrees C +\| ok +\| na +\| -7\.000 +\| na +\| 38\.000/m,
      );
      const theirs = stdout.split("\n").flatMap((line) => {
        const [name = "", value] = line.split("|").map((cell) => cell.trim());
        return Number.isNaN(Number(value)) || value?.startsWith("0x") ? [] : [[name, Number(value)]];
      });
      expect(theirs).toEqual(ours.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
    });

    it("makes a user, which our client can log in as, and disables it", async () => {
      await using bmc = await startBmc();

      for (const command of [
        "user set name 3 worker",
        "user set password 3 worker-password",
        "user priv 3 3 1",
        "channel setaccess 1 3 callin=off ipmi=on link=off privilege=3",
        "user enable 3",
      ]) {
        expect((await ipmitool(bmc, suite, command)).exitCode, command).toBe(0);
      }
      const listed = await ipmitool(bmc, suite, "user list 1");
      const overrides = { username: "worker", password: "worker-password", ipmi: { cipherSuite: suite } };

      expect(listed.stdout).toMatch(/^3 +worker +.*OPERATOR/m);
      await expect(openSession(bmc, { overrides })).resolves.toBeDefined();
      expect((await ipmitool(bmc, suite, "user disable 3")).exitCode).toBe(0);
      await expect(openSession(bmc, { overrides })).rejects.toMatchObject({ class: "auth" });
    });

    it("sees the user that our client has made", async () => {
      await using bmc = await startBmc();
      await using session = await openSession(bmc, { overrides: AS_ADMINISTRATOR });
      const { users } = session;
      if (!users) throw new Error("the session has no users");
      const { Secret } = await import("../../shared/secret.ts");
      await users.create(
        { name: "worker", password: new Secret("worker-password"), role: "readonly" },
        limit(),
      );

      const listed = await ipmitool(bmc, suite, "user list 1");
      const tested = await ipmitool(bmc, suite, "user test 3 16 worker-password");

      expect(listed.stdout).toMatch(/^3 +worker +.*USER/m);
      expect(tested.stdout).toContain("Success");
    });

    it("resets the BMC, ends serial over LAN and raises an NMI", async () => {
      await using bmc = await startBmc({ machine: { power: "on" }, sol: [1] });

      expect((await ipmitool(bmc, suite, "sol deactivate")).exitCode).toBe(0);
      expect(bmc.sol.size).toBe(0);
      expect((await ipmitool(bmc, suite, "chassis power diag")).exitCode).toBe(0);
      expect(bmc.machine.count("nmi")).toBe(1);
      expect((await ipmitool(bmc, suite, "mc reset cold")).exitCode).toBe(0);
      expect(bmc.log).toContain("Cold Reset");
    });

    it.each([255, 16, 8])("reads the FRU, %i bytes at a time", async (fruPartBytes) => {
      await using bmc = await startBmc({ fru: { vendor: "Example Corp", serial: "SYS-9" }, fruPartBytes });

      const { stdout } = await ipmitool(bmc, suite, "fru print 0");

      expect(stdout).toMatch(/Product Manufacturer +: Example Corp/);
      expect(stdout).toMatch(/Product Serial +: SYS-9/);
    });

    it.each(["after", "within"] as const)(
      "reaches a satellite whose answer comes %s the BMC's",
      async (answer) => {
        const machine = new SimulatedMachine({ power: "off" });
        onTestFinished(() => machine.close());
        const satellites = [{ channel: 7, address: 0x72, machine, answer }];
        await using bmc = await startBmc({ machine: { power: "on" }, satellites });

        const status = await ipmitool(bmc, suite, "-b 7 -t 0x72 chassis power status");

        expect(status.stdout).toBe("Chassis Power is off");
      },
    );
  });
});

async function freeipmi(program: string, bmc: IpmiBmc, suite: number, ...argv: string[]) {
  const where = ["-D", "LAN_2_0", "-h", `127.0.0.1:${bmc.port}`, "-u", "admin", "-p", "calvin"];
  const how = ["-I", String(suite), "-l", "ADMIN"];
  const env = { TZ: "UTC" };
  return execa(findProgram(program) ?? program, [...where, ...how, ...argv], {
    env,
    reject: false,
    timeout: 25_000,
  });
}

describeWithProgram("ipmi-chassis", "freeipmi talks to the simulated BMC", () => {
  describe.each(SUITES)("with cipher suite %i", (suite) => {
    it("reads and changes power (ipmipower)", async () => {
      await using bmc = await startBmc();

      expect((await freeipmi("ipmipower", bmc, suite, "--on")).stdout).toContain(": ok");
      await eventually(() => bmc.machine.power === "on");
      expect((await freeipmi("ipmipower", bmc, suite, "--stat")).stdout).toContain(": on");
      expect((await freeipmi("ipmipower", bmc, suite, "--pulse")).stdout).toContain(": ok");
      expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["on", "nmi"]);
    });

    it("reads the chassis and controls it (ipmi-chassis)", async () => {
      await using bmc = await startBmc({ machine: { power: "on" } });

      const status = await freeipmi("ipmi-chassis", bmc, suite, "--get-chassis-status");
      const control = await freeipmi("ipmi-chassis", bmc, suite, "--chassis-control=DIAGNOSTIC-INTERRUPT");

      expect(status.stdout).toMatch(/System Power +: on/);
      expect(control.exitCode).toBe(0);
      expect(bmc.machine.count("nmi")).toBe(1);
    });

    it("reads why the machine restarted (ipmi-chassis)", async () => {
      await using bmc = await startBmc();
      bmc.machine.restartCause = 4;

      const { stdout } = await freeipmi("ipmi-chassis", bmc, suite, "--get-system-restart-cause");

      expect(stdout).toMatch(/Watchdog expiration/i);
    });

    it("reads who the BMC is (bmc-info)", async () => {
      await using bmc = await startBmc();

      const { stdout } = await freeipmi("bmc-info", bmc, suite);

      expect(stdout).toMatch(/Firmware Revision +: 3\.45/);
      expect(stdout).toMatch(/IPMI Version +: 2\.0/);
      expect(stdout).toMatch(/Manufacturer ID +: Intel/);
    });

    it("lists an event log that needs a reservation, as our client does (ipmi-sel)", async () => {
      await using bmc = await startBmc({ log: { records: [RECORD] } });
      bmc.faults.refuses = (name, data) =>
        name === "Get SEL Entry" && data.readUInt16LE(0) === 0 ? 0xc5 : undefined;
      await using session = await openSession(bmc, { overrides: { ipmi: { cipherSuite: suite } } });

      const { stdout } = await freeipmi("ipmi-sel", bmc, suite, "--ignore-sdr-cache");

      expect(stdout).toMatch(/Jan-15-2026.*Uncorrectable memory error/);
      expect(await session.sel?.list(limit())).toHaveLength(1);
    });

    it("lists and clears the event log (ipmi-sel)", async () => {
      await using bmc = await startBmc({ log: { records: [RECORD] } });

      const listed = await freeipmi("ipmi-sel", bmc, suite, "--ignore-sdr-cache");
      const cleared = await freeipmi("ipmi-sel", bmc, suite, "--clear");

      expect(listed.stdout).toMatch(/Jan-15-2026.*18:53:25.*Memory.*Uncorrectable memory error/);
      expect(cleared.exitCode).toBe(0);
      expect(bmc.events.size).toBe(0);
    });
  });
});
