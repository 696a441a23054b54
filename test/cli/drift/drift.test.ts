import { describe, expect, it } from "vitest";
import { exitCodeFor, type MachineDrift } from "../../../cli/drift/check-machine.ts";
import { checkMachines } from "../../../cli/drift/check-machines.ts";
import { driftEntry, driftRows, driftSummary } from "../../../cli/drift/show-drift.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import { formatProblem } from "../../../shared/document/problem.ts";
import { hiddenProgress } from "../../../shared/progress-lines.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { redfishProfile } from "../../../simulators/redfish/profiles.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { scaledClock } from "../../support/scaled-clock.ts";

type Entry = Readonly<Record<string, unknown>>;
const credentials = { username: "admin", passwordEnv: "PASS" };

/** Simulated machines with their entries, the first one `node-1`. */
async function startRack() {
  const rack = new AsyncDisposableStack();
  const entries: Entry[] = [];
  const add = (entry: Entry) => {
    entries.push({ name: `node-${entries.length + 1}`, host: "127.0.0.1", credentials, ...entry });
  };
  return {
    add,
    /** All machines. */
    pause(reason: string) {
      entries.splice(0, entries.length, ...entries.map((entry) => ({ ...entry, paused: reason })));
    },
    async redfish(desired: Entry, options: RedfishBmcOptions = {}, machine: SimulatedMachineOptions = {}) {
      const simulated = new SimulatedMachine(machine);
      const bmc = rack.use(await startRedfishBmc({ machines: [simulated], tls: "http", ...options }));
      add({ providers: ["redfish"], redfish: { port: bmc.port, scheme: "http" }, desired });
      return { bmc, machine: simulated };
    },
    async ipmi(desired: Entry, machine: SimulatedMachineOptions = {}) {
      const simulated = new SimulatedMachine(machine);
      const bmc = rack.use(await startIpmiBmc({ machine: simulated }));
      add({ providers: ["ipmi"], ipmi: { port: bmc.port }, desired });
      return { bmc, machine: simulated };
    },
    async check(enforce = false, signal = AbortSignal.timeout(120_000)) {
      const text = JSON.stringify({ machines: entries });
      const parsed = parseInventory({
        path: "i.yaml",
        text,
        env: { PASS: "calvin" },
        readFile: readTextFile,
      });
      if (!parsed.ok) throw new Error(parsed.problems.map(formatProblem).join("\n"));
      const shown: string[] = [];
      const onResult = async ({ machine }: MachineDrift) => void shown.push(machine);
      const silent = { onLog: () => undefined, lines: hiddenProgress() };
      const options = { concurrency: 5, enforce, clock: scaledClock(50), onResult, ...silent };
      const results = await checkMachines(parsed.value.machines(), parsed.value, options, signal);
      expect(shown.toSorted()).toEqual(results.map(({ machine }) => machine).toSorted());
      return { results, exitCode: exitCodeFor(results, "SIGTERM") };
    },
    [Symbol.asyncDispose]: () => rack.disposeAsync(),
  };
}

const statesOf = (result?: MachineDrift) =>
  Object.fromEntries(result?.differences.map(({ field, state }) => [field, state]) ?? []);
const changesOf = (log: readonly string[]) =>
  log.filter((line) => !line.startsWith("GET ") && !line.includes("/Sessions"));

describe("drift", () => {
  it("is not looked for at a paused machine", async () => {
    await using rack = await startRack();
    const { bmc } = await rack.redfish({ power: "on" });
    rack.pause("fan replacement");

    const { results } = await rack.check(true);

    const [result] = results;
    if (!result) throw new Error("no result");
    expect(driftRows(["node-1"]).row(result)).toBe(
      "node-1   paused       paused: fan replacement (inventory i.yaml)\n",
    );
    expect(driftSummary(results)).toBe("1 machine: 1 paused");
    expect(bmc.requests).toEqual([]);
  });

  it("is nothing for machines that are as desired, and changes nothing", async () => {
    await using rack = await startRack();
    const desired = { power: "on", bootDevice: "none", bios: { NumCores: 16 } };
    const { bmc } = await rack.redfish(desired);
    const ipmi = await rack.ipmi({ power: "off" }, { power: "off" });

    const { results, exitCode } = await rack.check();

    expect(results.map((result) => statesOf(result))).toEqual([
      { power: "same", bootDevice: "same", "bios.NumCores": "same" },
      { power: "same" },
    ]);
    expect(exitCode).toBe(0);
    expect(changesOf(bmc.log)).toEqual([]);
    expect(ipmi.machine.commands).toEqual([]);
  });

  it("shows each difference with an exit code of its own, and changes nothing", async () => {
    await using rack = await startRack();
    const desired = { power: "off", bootDevice: "disk", ntp: ["time.example"], bios: { NumCores: 8 } };
    const { bmc } = await rack.redfish({ ...desired, firmware: { BIOS: "99.0" } });
    await rack.ipmi({ power: "off", bootDevice: "pxe" });

    const { results, exitCode } = await rack.check();

    expect(statesOf(results[0])).toMatchObject({
      power: "different",
      bootDevice: "different",
      ntp: "different",
      "bios.NumCores": "different",
      "firmware.BIOS": "different",
    });
    expect(statesOf(results[1])).toEqual({ power: "different", bootDevice: "different" });
    expect(exitCode).toBe(3);
    expect(changesOf(bmc.log)).toEqual([]);
    const { row } = driftRows(["node-1", "node-2"]);
    expect(results.slice(1).map(row)).toEqual([
      "node-2   drift        power: on, wanted off; bootDevice: none, wanted pxe\n",
    ]);
    expect(driftSummary(results)).toBe("2 machines: 2 drift");
  });

  it("of a machine without a route is that machine's result, and the others have theirs", async () => {
    await using rack = await startRack();
    rack.add({ host: "127.255.255.255", providers: ["ipmi"], desired: { power: "on" } });
    await rack.ipmi({ power: "on" });

    const { results, exitCode } = await rack.check();

    expect(results[0]).toMatchObject({
      error: {
        class: "unreachable",
        message: expect.stringMatching(/^ipmi: cannot reach 127\.255\.255\.255 /),
      },
    });
    expect(statesOf(results[1])).toEqual({ power: "same" });
    expect(exitCode).toBe(11);
  });

  it("is not what a BMC cannot show", async () => {
    await using rack = await startRack();
    await rack.ipmi({ power: "on", ntp: ["time.example"], bios: { NumCores: 8 }, firmware: { BIOS: "1" } });

    const { results, exitCode } = await rack.check(true);

    expect(statesOf(results[0])).toEqual({
      power: "same",
      ntp: "unknown",
      "bios.NumCores": "unknown",
      "firmware.BIOS": "unknown",
    });
    expect(exitCode).toBe(0);
    expect(driftEntry(results[0] ?? { machine: "", differences: [] })).toMatchObject({
      machine: "node-1",
      state: "unknown",
      provider: "ipmi",
    });
  });

  it("does not hide a machine that cannot be asked: its error decides the exit code", async () => {
    await using rack = await startRack();
    await rack.redfish({ power: "off" });
    rack.add({ providers: ["redfish"], redfish: { port: 1, scheme: "http" }, desired: { power: "on" } });
    const refused = await rack.redfish({ power: "off", bootDevice: "disk" }, { password: "other" });

    const { results, exitCode } = await rack.check(true);

    expect(results.map(({ error }) => error?.class)).toEqual([undefined, "unreachable", "auth"]);
    expect(exitCode).toBe(11);
    expect(refused.bmc.refusedCredentials).toBe(1);
    expect(JSON.stringify(results)).not.toContain("calvin");
  });

  it("is corrected once: settings first, power last, each verified", async () => {
    await using rack = await startRack();
    const desired = { power: "on", bootDevice: "disk", ntp: ["time.example"], bios: { NumCores: 8 } };
    const { bmc, machine } = await rack.redfish(desired, {}, { power: "off" });
    const ipmi = await rack.ipmi({ power: "off", bootDevice: "pxe" });

    const { results, exitCode } = await rack.check(true);

    expect(
      results.map(({ differences }) =>
        differences.map(({ field, correction }) => [field, correction?.state]),
      ),
    ).toEqual([
      [
        ["power", "corrected"],
        ["bootDevice", "corrected"],
        ["ntp", "corrected"],
        ["bios.NumCores", "corrected"],
      ],
      [
        ["power", "corrected"],
        ["bootDevice", "corrected"],
      ],
    ]);
    expect(exitCode).toBe(0);
    expect(changesOf(bmc.log).at(-1)).toContain("Reset");
    expect(changesOf(bmc.log)).toHaveLength(4);
    expect(machine.commands.map(({ action }) => action)).toEqual(["on"]);
    expect(machine.boots).toMatchObject([{ device: "disk", overridden: true }]);
    expect(machine.bios.attributes).toMatchObject({ NumCores: 8 });
    expect(ipmi.machine.override).toMatchObject({ device: "pxe", enabled: "continuous" });
    expect(ipmi.machine.power).toBe("off");

    const again = await rack.check(true);

    expect(again.exitCode).toBe(0);
    expect(changesOf(bmc.log)).toHaveLength(4);
    expect(again.results.flatMap(({ differences }) => differences.map(({ state }) => state))).toEqual(
      Array.from({ length: 6 }, () => "same"),
    );
  });

  it.each([{ power: "on", bootDevice: "disk" }, { power: "on" }])(
    "does not power on a machine that would use a one-time boot override: %o",
    async (desired) => {
      await using rack = await startRack();
      const { machine } = await rack.redfish(desired, {}, { power: "off" });
      machine.override = { device: "pxe", enabled: "once", mode: "uefi" };

      const { results, exitCode } = await rack.check(true);

      expect(results[0]?.differences[0]?.correction).toEqual({
        state: "skipped",
        message: "powering on would use the boot override pxe once (uefi)",
      });
      expect(exitCode).toBe(3);
      expect(machine.commands).toEqual([]);
      expect(machine.override).toMatchObject({ device: "pxe" });
    },
  );

  it("is not corrected where a second reading finds it again", async () => {
    await using rack = await startRack();
    const { machine } = await rack.redfish({ power: "on", bootDevice: "disk" }, {}, { power: "off" });
    machine.on("boot", () => {
      machine.override = { device: "none", enabled: "disabled", mode: "uefi" };
    });

    const { results, exitCode } = await rack.check(true);

    expect(results[0]?.differences.map(({ field, correction }) => [field, correction?.state])).toEqual([
      ["power", "corrected"],
      ["bootDevice", "failed"],
    ]);
    expect(results[0]?.differences[1]?.correction?.message).toMatch(/; the second reading shows none/);
    expect(exitCode).toBe(15);
  });

  it("waits for the next boot where BIOS attributes are set and the machine stays on", async () => {
    await using rack = await startRack();
    await rack.redfish({ bios: { NumCores: 8 } });

    const corrected = await rack.check(true);
    const { results, exitCode } = await rack.check();

    expect(corrected.results[0]?.differences[0]?.correction?.state).toBe("pending");

    expect(statesOf(results[0])).toEqual({ "bios.NumCores": "pending" });
    expect(exitCode).toBe(0);
  });

  it("is a BIOS attribute that is pending without a job, and --enforce makes the job", async () => {
    await using rack = await startRack();
    const profile = redfishProfile("dell-13g");
    const { machine } = await rack.redfish({ bios: { NumCores: 8 } }, { profile });
    machine.bios.pending = { NumCores: 8 };

    const found = await rack.check();
    await rack.check(true);

    expect(statesOf(found.results[0])).toEqual({ "bios.NumCores": "different" });
    expect(machine.bios.scheduled).toBe(true);
    expect(statesOf((await rack.check()).results[0])).toEqual({ "bios.NumCores": "pending" });
  });

  it("installs firmware that is older, if the entry has an image", async () => {
    await using rack = await startRack();
    const image = "https://192.0.2.9/bmc-1.3.0.bin";
    const { bmc } = await rack.redfish({
      firmware: { "BMC firmware": { version: "1.3.0", image }, BIOS: { version: "0.1", image } },
    });

    const { results } = await rack.check(true);

    expect(results[0]?.differences.map(({ field, correction }) => [field, correction?.state])).toEqual([
      ["firmware.BMC firmware", "corrected"],
      ["firmware.BIOS", "skipped"],
    ]);
    expect(results[0]?.differences[1]?.correction?.message).toMatch(/^2\.19\.1 is newer/);
    expect(changesOf(bmc.log)).toEqual([expect.stringContaining("SimpleUpdate")]);
  });

  it("leaves other firmware to update-firmware, and stays", async () => {
    await using rack = await startRack();
    const { bmc } = await rack.redfish({ firmware: { BIOS: "99.0" } });

    const { results, exitCode } = await rack.check(true);

    expect(results[0]?.differences[0]?.correction).toEqual({
      state: "skipped",
      message: expect.stringContaining("use update-firmware"),
    });
    expect(exitCode).toBe(3);
    expect(changesOf(bmc.log)).toEqual([]);
  });

  it("leaves the power alone if a setting cannot be corrected, but corrects the other settings", async () => {
    await using rack = await startRack();
    const desired = { power: "on", ntp: ["time.example"], bios: { NumCores: "many" } };
    const { machine } = await rack.redfish(desired, {}, { power: "off" });

    const { results, exitCode } = await rack.check(true);

    expect(results[0]?.differences.map(({ field, correction }) => [field, correction])).toEqual([
      ["power", { state: "skipped", message: "nothing was sent, because bios failed" }],
      ["ntp", { state: "corrected", message: expect.stringContaining("time.example") }],
      ["bios.NumCores", { state: "failed", class: "usage", message: expect.stringContaining("NumCores") }],
    ]);
    expect(exitCode).toBe(2);
    expect(machine.commands).toEqual([]);
  });

  it("is found in the other settings if one cannot be read, and then not corrected", async () => {
    await using rack = await startRack();
    const { bmc } = await rack.redfish({ power: "off", bios: { NumCores: 8 }, firmware: { BIOS: "99.0" } });
    const message = "not calvin";
    bmc.fail({ kind: "refuse", path: /\/Bios$/, status: 403, message, times: 9 });

    const { results, exitCode } = await rack.check(true);

    expect(results).toMatchObject([
      { error: { class: "auth", message: expect.stringMatching(/^bios: redfish: .*\[redacted\]/) } },
    ]);
    expect(statesOf(results[0])).toEqual({ power: "different", "firmware.BIOS": "different" });
    expect(exitCode).toBe(10);
    expect(changesOf(bmc.log)).toEqual([]);
  });

  it("is not corrected by a change that the BMC accepts and forgets, which is not sent again", async () => {
    await using rack = await startRack();
    const { bmc } = await rack.redfish({ bios: { NumCores: 8 } });
    bmc.fail({ kind: "forget", method: "PATCH" });

    const { results, exitCode } = await rack.check(true);

    expect(results[0]?.differences[0]?.correction).toMatchObject({ state: "failed", class: "verify" });
    expect(exitCode).toBe(15);
    expect(changesOf(bmc.log)).toHaveLength(1);
  });

  it("ends with the signal that stops it", async () => {
    await using rack = await startRack();
    await rack.redfish({ power: "off" });

    const { results, exitCode } = await rack.check(
      true,
      AbortSignal.abort(new BmcError("cancelled", "cancelled by SIGTERM")),
    );

    expect(results).toMatchObject([{ error: { class: "cancelled", message: "cancelled by SIGTERM" } }]);
    expect(exitCode).toBe(143);
  });
});
