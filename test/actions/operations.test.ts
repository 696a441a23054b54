import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually, TESTED_PROVIDERS } from "./lab.ts";

type Environment = Readonly<Record<string, string>>;

/** One run of an action, and its expected result. */
interface Run {
  readonly action: string;
  readonly title: string;
  readonly power: "on" | "off";
  readonly env?: Environment;
  /** Runs before it against the same machine. */
  readonly after?: readonly [action: string, env: Environment];
  readonly message: RegExp;
  readonly result: Readonly<Record<string, unknown>>;
  readonly done?: readonly string[];
  readonly override?: Readonly<Record<string, unknown>>;
}

const ISO = "http://192.0.2.9/rescue.iso";
const OTHER_ISO = "http://192.0.2.9/other.iso";
const pxeOnce = { device: "pxe", persistent: false, mode: "uefi" };
const diskForGood = { device: "disk", persistent: true, mode: "uefi" };
const setDisk = { DEVICE: "disk", PERSISTENT: "true", MODE: "uefi" };
const noOverride = { device: "none", enabled: "disabled" };

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
    message: /^cycled in .* \((off, then on|confirmed by the BMC.*)\)$/,
    result: { before: "on", after: "on", changed: true },
    done: ["cycle"],
  },
  {
    action: "power-cycle",
    title: "keeps the machine off for as long as OFF_DURATION says",
    power: "on",
    env: { OFF_DURATION: "600ms" },
    message: /^cycled in .* \(off for 0\.6 s, then on\)$/,
    result: { before: "on", after: "on", changed: true },
    done: ["off", "on"],
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
    action: "wait-for-power-state",
    title: "ends at once when the machine is on already",
    power: "on",
    env: { STATE: "on" },
    message: /^already on$/,
    result: { before: "on", after: "on", changed: false },
  },
  {
    action: "wait-for-power-state",
    title: "ends soon when the machine is off already",
    power: "off",
    env: { STATE: "off" },
    message: /^already off$/,
    result: { before: "off", after: "off", changed: false },
  },
  {
    action: "set-boot-device",
    title: "sets a persistent device",
    power: "off",
    env: setDisk,
    message: /^boot disk persistent \(uefi\)$/,
    result: { after: diskForGood, changed: true },
    override: { device: "disk", enabled: "continuous", mode: "uefi" },
  },
  {
    action: "set-boot-device",
    title: "clears an override with none",
    power: "off",
    env: { DEVICE: "none" },
    after: ["set-boot-device", setDisk],
    message: /^boot none$/,
    result: { after: { device: "none" }, changed: true },
    override: noOverride,
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
  {
    action: "set-pxe-once",
    title: "replaces a persistent override",
    power: "off",
    env: { MODE: "uefi" },
    after: ["set-boot-device", setDisk],
    message: /^boot pxe once \(uefi\)$/,
    result: { after: pxeOnce, changed: true },
    override: { device: "pxe", enabled: "once", mode: "uefi" },
  },
  {
    action: "set-disk-persistent",
    title: "sets the disk persistently",
    power: "on",
    env: { MODE: "uefi" },
    message: /^boot disk persistent \(uefi\)$/,
    result: { after: diskForGood, changed: true },
    override: { device: "disk", enabled: "continuous", mode: "uefi" },
  },
  {
    action: "get-boot-device",
    title: "says what the machine is set to boot from",
    power: "on",
    after: ["set-pxe-once", { MODE: "uefi" }],
    message: /^boot pxe once \(uefi\)$/,
    result: { before: pxeOnce, after: pxeOnce, changed: false, data: pxeOnce },
    override: { device: "pxe", enabled: "once", mode: "uefi" },
  },
  {
    action: "get-boot-device",
    title: "says that nothing is set",
    power: "on",
    message: /^boot none$/,
    result: { changed: false, data: { device: "none" } },
    override: noOverride,
  },
  {
    action: "clear-boot-override",
    title: "clears a persistent override",
    power: "on",
    after: ["set-disk-persistent", {}],
    message: /^boot none$/,
    result: { after: { device: "none" }, changed: true },
    override: noOverride,
  },
];

describe.concurrent.each(TESTED_PROVIDERS)("via %s", (provider) => {
  it.each(successes)(
    "$action $title",
    async ({ action, power, env, after, message, result, done, override }) => {
      await using lab = await actionLab({ machine: { power } });
      if (after) await runAction(after[0], { env: { ...lab.env(provider), ...after[1] } });

      const given = { ...lab.env(provider), MACHINE: "node-7", LOG_LEVEL: "warn", ...env };
      const ended = await runAction(action, { env: given });

      const said = resultOf(ended);
      expect(said).toMatchObject({ action, machine: "node-7", ok: true, provider, ...result });
      expect(said.message).toMatch(new RegExp(` via ${provider}$`));
      expect(said.message.replace(` via ${provider}`, "")).toMatch(message);
      expect(said).not.toHaveProperty("class");
      expect(said.roundTrips).toBeGreaterThan(0);
      expect(ended).toMatchObject({ code: 0, stderr: "" });
      expect(lab.done()).toEqual(done ?? []);
      if (override) expect(lab.machine.override).toMatchObject(override);
    },
  );

  it.each([
    { action: "set-boot-device", env: setDisk },
    { action: "set-pxe-once", env: {} },
    { action: "set-disk-persistent", env: {} },
    { action: "clear-boot-override", env: {} },
  ])("$action succeeds again when it is so already", async ({ action, env }) => {
    await using lab = await actionLab();
    const run = { env: { ...lab.env(provider), ...env } };
    await runAction(action, run);
    const first = lab.machine.override;

    const ended = await runAction(action, run);

    expect(resultOf(ended).ok).toBe(true);
    expect(lab.machine.override).toEqual(first);
  });

  it.each(["on", "off"] as const)(
    "wait-for-power-state sees the machine going %s while it waits, and sends nothing itself",
    async (state) => {
      const power = state === "on" ? "off" : "on";
      await using lab = await actionLab({ machine: { power } });
      const waiting = runAction("wait-for-power-state", { env: { ...lab.env(provider), STATE: state } });
      // Something else powers the machine after the action has seen it as it was.
      await eventually(() => lab.readings() >= 2);
      lab.machine.do(state);

      const said = resultOf(await waiting);

      expect(said).toMatchObject({ ok: true, before: power, after: state, changed: false, provider });
      expect(said.message).toMatch(new RegExp(`^${state} after \\d+\\.\\d s via ${provider}$`));
      expect(lab.writes()).toEqual([]);
    },
  );
});

it("power-cycle powers off and on where the BMC says only when it is asked that it has no cycle", async () => {
  await using lab = await actionLab({ machine: { power: "on" } });
  lab.ipmi.faults.refuses = (name, [action]) =>
    name === "Chassis Control" && action === 2 ? 0xcc : undefined;

  const ended = await runAction("power-cycle", { env: { ...lab.env("ipmi"), LOG_LEVEL: "warn" } });

  expect(resultOf(ended).message).toMatch(/^cycled in .* \(off for 5\.0 s, then on\) via ipmi$/);
  expect(lab.done()).toEqual(["off", "on"]);
});

describe.concurrent("virtual media via redfish", () => {
  const drive = (lab: Awaited<ReturnType<typeof actionLab>>) =>
    lab.redfish.media.slots.find(({ types }) => types.includes("CD"));
  const insert = { MEDIA_URL: ISO };

  it.each([
    ["another image", OTHER_ISO],
    ["the same image", ISO],
  ])("insert-virtual-media ejects %s that is in first", async (_, image) => {
    await using lab = await actionLab();
    Object.assign(drive(lab) ?? {}, { inserted: true, image });

    const ended = await runAction("insert-virtual-media", { env: { ...lab.env("redfish"), ...insert } });

    expect(resultOf(ended)).toMatchObject({ ok: true, before: { inserted: true, image }, changed: true });
    expect(lab.writes().map((line) => line.replace(/^.*VirtualMedia\./, ""))).toEqual([
      "EjectMedia",
      "InsertMedia",
    ]);
    expect(drive(lab)).toMatchObject({ inserted: true, image: ISO });
  });
});
