import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, TESTED_PROVIDERS, type TestedProvider } from "./lab.ts";

/** A dry run, and how each step begins that it says it would send. */
interface Plan {
  readonly action: string;
  readonly power: "on" | "off";
  readonly env?: Readonly<Record<string, string>>;
  readonly now: string;
  readonly steps: Readonly<Record<TestedProvider, readonly RegExp[]>>;
}

const ISO = "http://192.0.2.9/rescue.iso";
const reset = (type: string) => new RegExp(`^POST .*ComputerSystem\\.Reset \\{"ResetType":"${type}"\\}$`);
const patch = (fields: string) => new RegExp(`^PATCH .*${fields}`);
const control = (number: number) => new RegExp(`^Chassis Control: .* \\(0x0${number}\\)$`);
const bootFlags = (bytes: string) => new RegExp(`^Set System Boot Options: parameter 5 = ${bytes} `);
const wait = /^wait 2\.0 s$/;
const nothing = { redfish: [], ipmi: [] };

const plans: readonly Plan[] = [
  { action: "power-on", power: "off", now: "off", steps: { redfish: [reset("On")], ipmi: [control(1)] } },
  { action: "power-on", power: "on", now: "on", steps: nothing },
  {
    action: "power-off",
    power: "on",
    now: "on",
    steps: {
      redfish: [reset("GracefulShutdown"), /^if still on after 1m 0s: POST .*ForceOff/],
      ipmi: [control(5), /^if still on after 1m 0s: Chassis Control: .* \(0x00\)$/],
    },
  },
  { action: "power-off", power: "off", now: "off", steps: nothing },
  {
    action: "power-cycle",
    power: "on",
    now: "on",
    steps: { redfish: [reset("PowerCycle")], ipmi: [control(2)] },
  },
  {
    action: "power-cycle",
    power: "on",
    env: { OFF_DURATION: "2s" },
    now: "on",
    steps: {
      redfish: [reset("ForceOff"), wait, reset("On")],
      ipmi: [control(0), wait, control(1)],
    },
  },
  { action: "power-cycle", power: "off", now: "off", steps: { redfish: [reset("On")], ipmi: [control(1)] } },
  {
    action: "power-reset",
    power: "on",
    now: "on",
    steps: { redfish: [reset("ForceRestart")], ipmi: [control(3)] },
  },
  {
    action: "power-reset",
    power: "off",
    env: { ON_IF_OFF: "true" },
    now: "off",
    steps: { redfish: [reset("On")], ipmi: [control(1)] },
  },
  {
    action: "set-boot-device",
    power: "on",
    env: { DEVICE: "cdrom", PERSISTENT: "true", MODE: "uefi" },
    now: "boot none",
    steps: { redfish: [patch('"Cd".*"Continuous"')], ipmi: [bootFlags("e0 14")] },
  },
  {
    action: "set-pxe-once",
    power: "on",
    env: { MODE: "uefi" },
    now: "boot none",
    steps: { redfish: [patch('"Pxe".*"Once"')], ipmi: [bootFlags("a0 04")] },
  },
  {
    action: "set-disk-persistent",
    power: "on",
    env: { MODE: "uefi" },
    now: "boot none",
    steps: { redfish: [patch('"Hdd".*"Continuous"')], ipmi: [bootFlags("e0 08")] },
  },
  {
    action: "clear-boot-override",
    power: "on",
    now: "boot none",
    steps: { redfish: [patch('"Disabled"')], ipmi: [bootFlags("80 00")] },
  },
];

describe.concurrent.each(TESTED_PROVIDERS)("a dry run via %s", (provider) => {
  it.each(plans)(
    "of $action on a machine that is $power says what it would send, and sends nothing",
    async ({ action, power, env, now, steps }) => {
      await using lab = await actionLab({ machine: { power } });
      const before = lab.machine.override;

      const ended = await runAction(action, { env: { ...lab.env(provider), ...env, DRY_RUN: "true" } });

      const said = resultOf(ended);
      const expected = steps[provider];
      expect(said).toMatchObject({
        ok: true,
        changed: false,
        data: { wouldSend: expected.map((step) => expect.stringMatching(step)) },
      });
      const would = expected.length === 0 ? "nothing would be sent" : "would send ";
      expect(said.message.startsWith(`dry run: now ${now}, ${would}`)).toBe(true);
      expect(ended.code).toBe(0);
      expect(lab.writes()).toEqual([]);
      expect(lab.machine.override).toEqual(before);
    },
  );

  it("of power-reset on a machine that is off fails as the run would", async () => {
    await using lab = await actionLab({ machine: { power: "off" } });

    const ended = await runAction("power-reset", { env: { ...lab.env(provider), DRY_RUN: "true" } });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "state" });
    expect(lab.writes()).toEqual([]);
  });
});

it("a power state that is assumed without a dry run is refused, and nothing is sent", async () => {
  await using lab = await actionLab({ machine: { power: "off" } });

  const ended = await runAction("power-on", { env: { ...lab.env("redfish"), ASSUMED_POWER: "off" } });

  expect(ended.code).toBe(2);
  expect(resultOf(ended).message).toContain("ASSUMED_POWER=off is only for a dry run");
  expect(lab.writes()).toEqual([]);
});

describe.concurrent("a dry run of virtual media", () => {
  it.each([
    {
      action: "insert-virtual-media",
      env: { MEDIA_URL: ISO },
      held: null,
      now: "no media",
      steps: [/InsertMedia .*rescue/],
    },
    {
      action: "insert-virtual-media",
      env: { MEDIA_URL: ISO },
      held: "http://192.0.2.9/other.iso",
      now: "http://192.0.2.9/other.iso",
      steps: [/EjectMedia/, /InsertMedia .*rescue/],
    },
    { action: "eject-virtual-media", env: {}, held: ISO, now: ISO, steps: [/EjectMedia/] },
    { action: "eject-virtual-media", env: {}, held: null, now: "no media", steps: [] },
  ])(
    "$action with $held in the drive says what it would send, and sends nothing",
    async ({ action, env, held, now, steps }) => {
      await using lab = await actionLab();
      const drive = lab.redfish.media.slots.find(({ types }) => types.includes("CD"));
      Object.assign(drive ?? {}, { inserted: held !== null, image: held });

      const ended = await runAction(action, { env: { ...lab.env("redfish"), ...env, DRY_RUN: "true" } });

      const said = resultOf(ended);
      expect(said).toMatchObject({
        ok: true,
        before: { inserted: held !== null },
        changed: false,
        data: { wouldSend: steps.map((step) => expect.stringMatching(step)) },
      });
      expect(said.message).toContain(`dry run: now ${now}, `);
      expect(lab.writes()).toEqual([]);
      expect(drive).toMatchObject({ inserted: held !== null, image: held });
    },
  );
});
