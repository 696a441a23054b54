import { execa } from "execa";
import { describe, expect, it, onTestFinished } from "vitest";
import { output } from "../../simulators/amt/answers.ts";
import { startAmtDevice } from "../../simulators/amt/device.ts";
import type { IpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { eventually, startBmc } from "../shared/bmc/providers/ipmi/bench.ts";
import { recordAction } from "../support/recorded-action.ts";
import { fromGo, provenWith } from "./compatibility/peer.ts";

const TITLE = "bmclib drives the simulators";
const program = process.env["BMCLIB_CLIENT"];
if (!program) process.stderr.write(`skipped, BMCLIB_CLIENT is not set: ${TITLE}\n`);

interface Bmc {
  readonly host?: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
}

/** Carries out one operation and gives its result. Rejects with what bmclib says when it fails. */
async function bmclib(provider: string, bmc: Bmc, operation: string): Promise<unknown> {
  const who = [bmc.host ?? "127.0.0.1", String(bmc.port), bmc.username, bmc.password];
  const argv = [provider, ...who, ...operation.split(" ")];
  const { stdout } = await execa(program ?? "", argv, { timeout: 60_000, stdin: "ignore" });
  return JSON.parse(stdout);
}

const quick = (power: "on" | "off") =>
  new SimulatedMachine({ power, powerOnMs: 0, powerOffMs: 0, softOffMs: 0, cycleOffMs: 0 });

const bmclibPeer = fromGo("bmclib", program ?? "", "bmc-toolbox/bmclib/v2");

describe.skipIf(!program)(TITLE, provenWith(bmclibPeer), () => {
  it("powers an Intel AMT device on, off and through a cycle, and boots it from the network once", async () => {
    const machine = quick("off");
    const device = await startAmtDevice({ machine, tls: "http" });
    onTestFinished(() => device.close());
    const run = (operation: string) =>
      bmclib("IntelAMT", { ...pick(device), port: device.http.port }, operation);

    expect(await run("power")).toBe("off");
    expect(await run("set-power on")).toBe(true);
    expect(await run("power")).toBe("on");
    expect(await run("set-boot pxe once efi")).toBe(true);
    expect(machine.override).toMatchObject({ device: "pxe", enabled: "once" });
    expect(await run("set-power cycle")).toBe(true);
    await eventually(() => machine.lastBoot?.device === "pxe");
    expect(await run("set-power off")).toBe(true);
    expect(await run("power")).toBe("off");
    expect(machine.commands.map(({ action }) => action)).toEqual(["on", "cycle", "soft-off"]);
  });

  it("gets from the recording of an Intel AMT device what the device answered", async () => {
    const password = "amt-calvin-83d1c2";
    const device = await startAmtDevice({
      ...{ machine: quick("on"), password, tls: "http", getsPower: false },
    });
    onTestFinished(() => device.close());
    const env = {
      ...{
        BMC_HOST: "127.0.0.1",
        BMC_USERNAME: device.username,
        BMC_PASSWORD: password,
        BMC_PROVIDERS: "amt",
      },
      ...{ AMT_PORT: String(device.http.port), AMT_SCHEME: "http", MODE: "soft" },
    };
    const { recording } = await recordAction("power-off", env, {
      beforeAction: () => device.script("RequestPowerStateChange", output("RequestPowerStateChange", 5)),
    });
    await using replayed = await startRecording(recording, { tls: "http" });
    const { machine, amt, username, password: own } = replayed;
    const run = (operation: string) =>
      bmclib("IntelAMT", { port: amt?.http.port ?? 0, username, password: own }, operation);

    expect(await run("power")).toBe("on");
    // bmclib ignores the value that refuses.
    expect(await run("set-power off")).toBe(true);
    expect(machine.commands).toEqual([]);
    // The exchange has no cycle.
    expect(await run("set-power cycle")).toBe(true);
    expect(machine.commands.map(({ action }) => action)).toEqual(["cycle"]);
  });

  it("drives Redfish's power, boot, media, inventory and reset", async () => {
    const machine = quick("on");
    await using bmc = await startRedfishBmc({ machines: [machine] });
    bmc.sel.add("Warning", "Fan 1 is slow.", "2025-06-01T08:30:00Z");
    const run = (operation: string) => bmclib("gofish", bmc, operation);

    expect(await run("power")).toBe("On");
    expect(await run("set-power off")).toBe(true);
    expect(await run("set-power on")).toBe(true);
    expect(await run("set-power cycle")).toBe(true);
    expect(await run("nmi")).toBe(true);
    expect(machine.commands.map(({ action }) => action)).toEqual(["off", "on", "reset", "nmi"]);
    expect(await run("set-boot pxe persistent efi")).toBe(true);
    expect(await run("boot")).toEqual({ Device: "pxe", IsPersistent: true, IsEFIBoot: true });
    expect(await run("media CD http://127.0.0.1/a.iso")).toBe(true);
    expect(bmc.media.slots).toContainEqual(expect.objectContaining({ image: "http://127.0.0.1/a.iso" }));
    expect(await run("inventory")).toMatchObject({
      bmc: { firmware: { installed: bmc.profile.firmware } },
      bios: { firmware: { installed: "2.19.1" } },
    });
    expect(await run("reset-bmc GracefulRestart")).toBe(true);
    expect(bmc.manager.resets).toEqual(["GracefulRestart"]);
  });

  it("reads the Redfish log of a manager, and clears that of a chassis", async () => {
    const [manager, chassis] = [await startRedfishBmc(), await startRedfishBmc({ profile: "cisco-cimc" })];
    onTestFinished(() => Promise.all([manager.close(), chassis.close()]).then(() => undefined));
    for (const { sel } of [manager, chassis]) sel.add("Warning", "Fan 1 is slow.", "2025-06-01T08:30:00Z");

    expect(JSON.stringify(await bmclib("gofish", manager, "sel"))).toContain("Fan 1 is slow.");
    expect(await bmclib("gofish", chassis, "clear-sel")).toBe(true);
    expect(chassis.sel.entries).toEqual([]);
  });

  it("lists, makes, changes and removes a Redfish user in a free slot", async () => {
    await using bmc = await startRedfishBmc({ profile: "dell-idrac9" });
    const run = (operation: string) => bmclib("gofish", bmc, operation);

    expect(await run("users")).toEqual([expect.objectContaining({ Username: "admin" })]);
    expect(await run("create-user worker first-password Operator")).toBe(true);
    expect(bmc.accounts.find("worker")).toMatchObject({ role: "Operator", enabled: true });
    expect(await run("update-user worker second-password ReadOnly")).toBe(true);
    expect(bmc.accounts.accepts("worker", "second-password")).toBe(true);
    expect(await run("delete-user worker")).toBe(true);
    expect(bmc.accounts.find("worker")).toBeUndefined();
  });

  it("drives an IPMI BMC with ipmitool: power, boot, users, log, serial over LAN and reset", async () => {
    const record = Buffer.from("000002a5376969200004" + "0c216f31ff03", "hex");
    await using bmc: IpmiBmc = await startBmc({ log: { records: [record] }, sol: [1] });
    const run = (operation: string) =>
      bmclib("ipmitool", { port: bmc.port, username: "admin", password: "calvin" }, operation);

    expect(await run("power")).toContain("off");
    expect(await run("set-power on")).toBe(true);
    await eventually(() => bmc.machine.power === "on");
    expect(await run("set-power reset")).toBe(true);
    expect(await run("set-boot pxe once efi")).toBe(true);
    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
    expect(await run("users")).toEqual([expect.objectContaining({ Name: "admin" })]);
    expect(await run("sel")).toEqual([expect.arrayContaining([expect.stringContaining("Memory")])]);
    expect(await run("clear-sel")).toBe(true);
    expect(bmc.events.size).toBe(0);
    expect(await run("sel")).toBeNull();
    expect(await run("sol-off")).toBe(true);
    expect(bmc.sol.size).toBe(0);
    expect(await run("reset-bmc cold")).toBe(true);
    expect(bmc.log).toContain("Cold Reset");
    expect(bmc.machine.commands.map(({ action }) => action)).toEqual(["on", "reset"]);
  });
});

const pick = ({ username, password }: Omit<Bmc, "port">) => ({ username, password });
