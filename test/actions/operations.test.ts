import { describe, expect, it } from "vitest";
import { redfishProfiles } from "../simulators/redfish/profiles.ts";
import { resultOf, runAction } from "./action-process.ts";
import { actionLab, type LabOptions, REFUSING_PORT, TESTED_PROVIDERS } from "./lab.ts";

/** One run of an action, and what it must come to. */
interface Run {
  readonly action: string;
  readonly title: string;
  readonly power: "on" | "off";
  readonly env?: Readonly<Record<string, string>>;
  readonly message: RegExp;
  readonly result: Readonly<Record<string, unknown>>;
  readonly done?: readonly string[];
  readonly override?: Readonly<Record<string, unknown>>;
}

const pxeOnce = { device: "pxe", persistent: false, mode: "uefi" };
const diskForGood = { device: "disk", persistent: true, mode: "uefi" };
const setDisk = { DEVICE: "disk", PERSISTENT: "true", MODE: "uefi" };

const successes: readonly Run[] = [
  {
    action: "power-on",
    title: "powers a machine on",
    power: "off",
    message: /^on after \d+\.\d s$/,
    result: { before: "off", after: "on", changed: true },
    done: ["on"],
  },
  {
    action: "power-on",
    title: "leaves a machine that is on alone",
    power: "on",
    message: /^already on$/,
    result: { before: "on", after: "on", changed: false },
  },
  {
    action: "power-off",
    title: "asks the operating system first",
    power: "on",
    message: /^off after .* \(graceful\)$/,
    result: { before: "on", after: "off", changed: true },
    done: ["soft-off"],
  },
  {
    action: "power-off",
    title: "leaves a machine that is off alone",
    power: "off",
    message: /^already off$/,
    result: { before: "off", after: "off", changed: false },
  },
  {
    action: "power-cycle",
    title: "has the BMC cycle the power",
    power: "on",
    message: /^cycled in .* \((seen off, then on|confirmed by the BMC.*)\)$/,
    result: { before: "on", after: "on", changed: true },
    done: ["cycle"],
  },
  {
    action: "power-cycle",
    title: "powers a machine that is off on, and says so",
    power: "off",
    message: /^on after .* \(was off, so powered on\)$/,
    result: { before: "off", after: "on", changed: true },
    done: ["on"],
  },
  {
    action: "power-reset",
    title: "resets a machine once",
    power: "on",
    message: /^reset, on after /,
    result: { before: "on", after: "on", changed: true },
    done: ["reset"],
  },
  {
    action: "power-reset",
    title: "powers a machine that is off on where that is allowed",
    power: "off",
    env: { ON_IF_OFF: "true" },
    message: /\(was off, so powered on\)$/,
    result: { before: "off", after: "on", changed: true },
    done: ["on"],
  },
  {
    action: "power-status",
    title: "says that a machine is on",
    power: "on",
    message: /^on$/,
    result: { before: "on", after: "on", changed: false, data: { power: "on" } },
  },
  {
    action: "power-status",
    title: "says that a machine is off",
    power: "off",
    message: /^off$/,
    result: { before: "off", after: "off", changed: false, data: { power: "off" } },
  },
  {
    action: "set-boot-device",
    title: "sets a device for good",
    power: "off",
    env: setDisk,
    message: /^boot disk persistent \(uefi\)$/,
    result: { after: diskForGood, changed: true },
    override: { device: "disk", enabled: "continuous", mode: "uefi" },
  },
  {
    action: "set-pxe-once",
    title: "sets the network for one boot",
    power: "off",
    env: { EFI_BOOT: "true" },
    message: /^boot pxe once \(uefi\)$/,
    result: { after: pxeOnce, changed: true },
    override: { device: "pxe", enabled: "once", mode: "uefi" },
  },
];

const actions: readonly { action: string; env?: Readonly<Record<string, string>> }[] = [
  { action: "power-on" },
  { action: "power-off" },
  { action: "power-cycle" },
  { action: "power-reset" },
  { action: "power-status" },
  { action: "set-boot-device", env: setDisk },
  { action: "set-pxe-once" },
];

describe.concurrent.each(TESTED_PROVIDERS)("via %s", (provider) => {
  it.each(successes)("$action $title", async ({ action, power, env, message, result, done, override }) => {
    await using lab = await actionLab({ machine: { power } });

    const ended = await runAction(action, { env: { ...lab.env(provider), MACHINE: "node-7", ...env } });

    const said = resultOf(ended);
    expect(said).toMatchObject({ action, machine: "node-7", ok: true, provider, ...result });
    expect(said.message).toMatch(new RegExp(` via ${provider}$`));
    expect(said.message.replace(` via ${provider}`, "")).toMatch(message);
    expect(said).not.toHaveProperty("class");
    expect(said.roundTrips).toBeGreaterThan(0);
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(lab.done()).toEqual(done ?? []);
    if (override) expect(lab.machine.override).toEqual(override);
  });

  it.each(["set-boot-device", "set-pxe-once"])("%s succeeds again when it is so already", async (action) => {
    await using lab = await actionLab();
    const run = { env: { ...lab.env(provider), ...(action === "set-boot-device" ? setDisk : {}) } };
    await runAction(action, run);
    const first = lab.machine.override;

    const ended = await runAction(action, run);

    expect(resultOf(ended).ok).toBe(true);
    expect(lab.machine.override).toEqual(first);
  });

  it.each(actions)("$action stops after one refusal of a password", async ({ action, env }) => {
    await using lab = await actionLab();

    const ended = await runAction(action, {
      env: { ...lab.env(provider), ...env, BMC_PASSWORD: "not-calvin" },
    });

    const said = resultOf(ended);
    expect(said).toMatchObject({ action, ok: false, class: "auth" });
    expect(said.message).toMatch(new RegExp(`^${provider}: .`));
    expect(ended.code).toBe(10);
    expect(lab.refusals()).toBe(1);
    expect(lab.done()).toEqual([]);
  });

  it.each(actions)("$action says soon that nothing can be reached", async ({ action, env }) => {
    await using lab = await actionLab();
    const port = String(REFUSING_PORT);

    const ended = await runAction(action, {
      env: { ...lab.env(provider), ...env, REDFISH_PORT: port, IPMI_PORT: port },
    });

    const said = resultOf(ended);
    expect(said).toMatchObject({ action, ok: false, class: "unreachable" });
    expect(said.message).toMatch(new RegExp(`^${provider}: .*connection refused`));
    expect(said.durationMs).toBeLessThan(10_000);
    expect(ended.code).toBe(11);
    expect(lab.traffic()).toBe(0);
  });

  it.each([
    { action: "power-on", power: "off", machine: { powerOnMs: 60_000 }, env: {}, sent: "on" },
    { action: "power-off", power: "on", machine: { powerOffMs: 60_000 }, env: { MODE: "hard" }, sent: "off" },
    { action: "power-cycle", power: "on", machine: { cycleOffMs: 60_000 }, env: {}, sent: "cycle" },
  ] as const)(
    "$action fails when the machine does not follow",
    async ({ action, power, machine, env, sent }) => {
      await using lab = await actionLab({ machine: { power, ...machine } });

      const ended = await runAction(action, { env: { ...lab.env(provider), STATE_TIMEOUT: "1s", ...env } });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "timeout", provider });
      expect(resultOf(ended).message).toMatch(new RegExp(`^${provider}: not o(n|ff) after 1.0 s, although`));
      expect(ended.code).toBe(16);
      expect(lab.done()).toEqual([sent]);
    },
  );

  it("power-reset of a machine that is off is an error of class state", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });

    const ended = await runAction("power-reset", { env: lab.env(provider) });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "state" });
    expect(resultOf(ended).message).toMatch(new RegExp(`^${provider}: the machine is off`));
    expect(ended.code).toBe(17);
    expect(lab.done()).toEqual([]);
  });

  it.each(actions.slice(-2))("$action fails when the BMC keeps something else", async ({ action, env }) => {
    await using lab = await actionLab({ redfish: { profile: "supermicro-reverting" } });
    lab.ipmi.faults.refuses = (name) => (name === "Set System Boot Options" ? 0 : undefined);

    const ended = await runAction(action, { env: { ...lab.env(provider), ...env, MODE: "uefi" } });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: false, class: "verify", provider });
    expect(said.message).toMatch(new RegExp(`^${provider}: asked for \\w+ .*, the BMC keeps `));
    expect(ended.code).toBe(15);
  });
});

function limitedTo(resetTypes: readonly string[]): LabOptions {
  const { generic } = redfishProfiles;
  if (!generic) throw new Error("the simulator has no generic profile");
  return { redfish: { profile: { ...generic, resetTypes } } };
}

describe.concurrent("what a BMC does not offer", () => {
  it.each([
    ["power-on", ["ForceOff"], "off", {}],
    ["power-off", ["On", "GracefulShutdown"], "on", { MODE: "hard" }],
    ["power-off", ["On", "ForceOff"], "on", { MODE: "soft" }],
    ["power-cycle", ["ForceOff"], "on", {}],
    ["power-cycle", ["On"], "on", {}],
    ["power-reset", ["On", "ForceOff"], "on", {}],
  ] as const)(
    "makes %s of a BMC with only %j unsupported before anything is changed",
    async (action, offered, power, env) => {
      await using lab = await actionLab({ ...limitedTo(offered), machine: { power } });

      const ended = await runAction(action, { env: { ...lab.env("redfish"), ...env } });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "unsupported", provider: "redfish" });
      expect(ended.code).toBe(13);
      expect(lab.done()).toEqual([]);
      expect(lab.redfish.log.filter((line) => !line.startsWith("GET"))).toEqual([]);
    },
  );

  it.each([
    ["redfish", "safe"],
    ["ipmi", "usb"],
    ["ipmi", "uefi-http"],
  ] as const)(
    "makes a device unsupported via %s before anything is changed: %s",
    async (provider, device) => {
      await using lab = await actionLab();
      const before = lab.machine.override;

      const ended = await runAction("set-boot-device", { env: { ...lab.env(provider), DEVICE: device } });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "unsupported", provider });
      expect(ended.code).toBe(13);
      expect(lab.machine.override).toEqual(before);
    },
  );

  it.each(["power-on", "power-off", "power-cycle", "power-reset"])(
    "makes %s unsupported via ipmi when the BMC does not know the command",
    async (action) => {
      await using lab = await actionLab({ machine: { power: action === "power-on" ? "off" : "on" } });
      lab.ipmi.faults.refuses = (name) => (name === "Chassis Control" ? 0xc1 : undefined);

      const ended = await runAction(action, { env: lab.env("ipmi") });

      expect(resultOf(ended)).toMatchObject({ ok: false, class: "unsupported", provider: "ipmi" });
      expect(ended.code).toBe(13);
      expect(lab.done()).toEqual([]);
    },
  );
});
