import { describe, expect, it } from "vitest";
import {
  type BootProgress,
  type BootSight,
  type BootStage,
  postCodeOf,
} from "../../../../shared/bmc/operations/boot-port.ts";
import { waitForBoot } from "../../../../shared/bmc/operations/boot-wait.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";

const ONCE = { device: "pxe", persistent: false } as const;
const NONE = { device: "none" } as const;
const MEMORY: BootProgress = { state: "MemoryInitializationStarted" };
const SETUP: BootProgress = { state: "SetupEntered", stage: "hardware-ready" };
const STARTED: BootProgress = { state: "OSBootStarted", stage: "boot-started" };
const RUNNING: BootProgress = { state: "OSRunning", stage: "os-running" };

const on = (more: Partial<BootSight> = {}): BootSight => ({ power: "on", ...more });
const off = (more: Partial<BootSight> = {}): BootSight => ({ power: "off", ...more });

const STARTED_MS = 1_000_000;

/** A machine that shows these states in turn, and keeps the last one. Its clock only advances in waits. */
function machine(...sights: readonly (BootSight | BmcError)[]) {
  const left = [...sights];
  let nowMs = STARTED_MS;
  const sleep = async (ms: number) => {
    nowMs += ms;
  };
  const told: string[] = [];
  return {
    clock: { now: () => nowMs, monotonicMs: () => nowMs, sleep },
    sleep,
    keepsOverrides: async () => false,
    progress: (text: string) => told.push(text),
    async see(): Promise<BootSight | BmcError> {
      return (left.length > 1 ? left.shift() : left[0]) ?? new BmcError("internal", "nothing to see");
    },
    told,
  };
}

const wait = (port: ReturnType<typeof machine>, stage: BootStage = "boot-started") =>
  waitForBoot(port, { stage }, 60_000);

describe("a boot is shown by the firmware's progress", () => {
  it("when the stage or a later one comes after an earlier one", async () => {
    const started = machine(on({ progress: MEMORY }), on({ progress: STARTED }));
    const later = machine(on({ progress: MEMORY }), on({ progress: SETUP }), on({ progress: RUNNING }));

    await expect(wait(started)).resolves.toEqual({
      before: "MemoryInitializationStarted",
      after: "OSBootStarted",
      shownBy: "progress",
      summary: "OSBootStarted after 1.0 s",
    });
    await expect(wait(later, "hardware-ready")).resolves.toMatchObject({ after: "SetupEntered" });
    expect(started.told).toEqual(["waiting for boot-started, now MemoryInitializationStarted"]);
  });

  it("when the BMC's times say that it is of this boot, and it lasts", async () => {
    const port = machine(on({ progress: { ...RUNNING, isOfThisBoot: true } }));

    const report = await wait(port);

    expect(report).toMatchObject({ after: "OSRunning", shownBy: "progress" });
    expect(port.clock.now() - STARTED_MS).toBeGreaterThanOrEqual(10_000);
  });

  it.each([
    ["without times", on({ progress: RUNNING })],
    ["from before the last reset", on({ progress: { ...RUNNING, isOfThisBoot: false } })],
    ["of a machine that is off", off({ progress: { ...RUNNING, isOfThisBoot: true } })],
  ])("but not by what was there all along %s", async (_, sight) => {
    await expect(wait(machine(sight))).rejects.toMatchObject({ class: "timeout" });
  });

  it("but not by an earlier stage", async () => {
    await expect(wait(machine(on({ progress: MEMORY }), on({ progress: SETUP })))).rejects.toMatchObject({
      class: "timeout",
      message: "not boot-started after 1m 0s: the last stage was SetupEntered",
    });
  });

  it("and not by a former boot that a BMC shows for a moment", async () => {
    const former = on({ progress: { ...RUNNING, isOfThisBoot: true } });
    const port = machine(former, former, on({ progress: MEMORY }));

    await expect(wait(port)).rejects.toMatchObject({
      class: "timeout",
      message: "not boot-started after 1m 0s: the last stage was MemoryInitializationStarted",
    });
  });
});

describe("a boot is shown by the one-time override", () => {
  it("when it goes while the machine is on", async () => {
    const port = machine(off({ override: ONCE }), on({ override: ONCE }), on({ override: NONE }));

    await expect(wait(port)).resolves.toMatchObject({
      shownBy: "override",
      summary: expect.stringMatching(/^boot override pxe once used after 2\.5 s$/),
    });
  });

  it("but not as a running operating system", async () => {
    const port = machine(on({ override: ONCE, progress: MEMORY }), on({ override: NONE, progress: MEMORY }));

    await expect(wait(port, "os-running")).rejects.toMatchObject({ class: "timeout" });
  });

  it("but not by one that was never set", async () => {
    const never = { device: "none", persistent: false } as const;

    await expect(wait(machine(on({ override: never })))).rejects.toMatchObject({ class: "unsupported" });
  });

  it("but not when it goes while the machine is off, or is another one", async () => {
    const cleared = machine(on({ override: ONCE }), off({ override: NONE }));
    const changed = machine(on({ override: ONCE }), on({ override: { device: "disk", persistent: true } }));

    await expect(wait(cleared)).rejects.toMatchObject({ message: expect.stringContaining("is off") });
    await expect(wait(changed)).rejects.toMatchObject({
      message: expect.stringContaining("disk persistent is still set"),
    });
  });
});

describe("a POST code", () => {
  const codes = (boot: string, ...postCodes: readonly string[]) =>
    on({ progress: { state: `POST code ${postCodes.at(-1)}`, postCodes, boot, isOfThisBoot: false } });
  const waitForCode = (port: ReturnType<typeof machine>) => waitForBoot(port, { postCode: "0xad" }, 60_000);

  it.each([
    ["comes after others", [codes("1", "0x19"), codes("1", "0x19", "0xad", "0x00")]],
    ["is of a boot that began after the first look", [codes("1", "0xad"), codes("2", "0x19", "0xad")]],
  ])("is reached when it %s", async (_, sights) => {
    await expect(waitForCode(machine(...sights))).resolves.toMatchObject({
      shownBy: "post-code",
      summary: "POST code 0xad after 1.0 s",
    });
  });

  it("is not reached by that of a former boot, nor shown by the use of an override", async () => {
    const former = machine(codes("1", "0xad"));
    const used = machine(on({ override: ONCE, progress: MEMORY }), on({ override: NONE, progress: MEMORY }));

    await expect(waitForCode(former)).rejects.toMatchObject({
      class: "timeout",
      message:
        "not POST code 0xad after 1m 0s: the last stage was POST code 0xad, which may be of an earlier boot",
    });
    await expect(waitForCode(used)).rejects.toMatchObject({ class: "timeout" });
  });

  it("is not reached by progress without codes", async () => {
    const port = machine(codes("1", "0x19"), on({ progress: MEMORY }));

    await expect(waitForCode(port)).rejects.toMatchObject({ class: "timeout" });
  });

  it.each([
    ["AD", "0xad"],
    ["0x000000AD", "0xad"],
    ["0", "0x00"],
    ["0x", undefined],
    ["boot", undefined],
  ])("%s is %s", (text, code) => {
    expect(postCodeOf(text)).toBe(code);
  });
});

describe("nothing can show a boot", () => {
  it.each([
    [
      "no override is set",
      on({ override: NONE }),
      "boot-started",
      "has no one-time boot override set (none)",
    ],
    ["the operating system is waited for", on({ override: ONCE }), "os-running", "cannot show os-running"],
  ] as const)("where there is no progress and %s", async (_, sight, stage, reason) => {
    await expect(wait(machine(sight), stage)).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining(reason),
    });
  });

  it("where the BMC keeps one-time overrides", async () => {
    const port = { ...machine(on({ override: ONCE })), keepsOverrides: async () => true };

    await expect(wait(port)).rejects.toMatchObject({
      class: "unsupported",
      message: expect.stringContaining("keeps one-time boot overrides"),
    });
  });
});

it("a BMC that has reported progress may stop for a moment", async () => {
  await expect(
    wait(machine(on({ progress: MEMORY }), on(), on({ progress: STARTED }))),
  ).resolves.toMatchObject({ shownBy: "progress" });
});

describe("a BMC that does not answer", () => {
  const silence = new BmcError("unreachable", "connection refused");

  it.each([
    ["at first", [silence, on({ progress: MEMORY }), on({ progress: STARTED })]],
    ["on the way", [on({ progress: MEMORY }), silence, silence, on({ progress: STARTED })]],
  ])("is waited for %s", async (_, sights) => {
    await expect(wait(machine(...sights))).resolves.toMatchObject({ after: "OSBootStarted" });
  });

  it("fails at the end if it lasts", async () => {
    await expect(wait(machine(on({ progress: MEMORY }), silence))).rejects.toBe(silence);
  });
});
