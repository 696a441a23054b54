import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, type TestedProvider } from "./lab.ts";

type Lab = Awaited<ReturnType<typeof actionLab>>;

/** Runs the action; `then` happens after its first look. */
async function waitedFor(there: Lab, provider: TestedProvider, then: () => unknown) {
  // With IPMI the power is read after the override.
  const looks = there.readings;
  const before = looks();
  const running = runAction("wait-for-boot", { env: there.env(provider) });
  await expect.poll(looks, { interval: 20 }).toBeGreaterThan(before);
  then();
  return resultOf(await running);
}

describe("wait-for-boot", () => {
  it.each([
    ["BootProgress", "generic", "MemoryInitializationStarted", "OSBootStarted"],
    ["iLO's PostState", "hpe-ilo5", "InPost", "FinishedPost"],
  ])("reads %s with one request for each look", async (_, profile, early, late) => {
    await using there = await actionLab({ redfish: { profile } });
    there.machine.bootProgress = { state: early };

    const result = await waitedFor(there, "redfish", () => {
      there.machine.bootProgress = { state: late };
    });

    expect(result).toMatchObject({
      before: early,
      after: late,
      changed: false,
      data: { shownBy: "progress" },
    });
    expect(there.readings()).toBe(2);
    expect(there.writes()).toEqual([]);
  });

  it("compares the times of the BMC", async () => {
    await using there = await actionLab();
    const resetMs = Date.parse("2026-05-01T10:00:00Z");
    there.machine.bootProgress = { state: "OSRunning", resetMs, sinceMs: resetMs - 1_000 };
    const env = { ...there.env("redfish"), STAGE_TIMEOUT: "1s" };

    const former = resultOf(await runAction("wait-for-boot", { env }));

    expect(former).toMatchObject({
      class: "timeout",
      message:
        "redfish: not boot-started after 1.0 s: the last stage was OSRunning, which may be of an earlier boot",
    });
  });

  it("reads the POST codes of OpenBMC, the latest boot's, with two requests for each look", async () => {
    await using there = await actionLab({ redfish: { profile: "openbmc" } });
    const former = { startedMs: Date.parse("2026-05-01T10:00:00Z"), codes: ["0x19", "0xad"] };
    there.redfish.sel.boots = [former];
    const env = { ...there.env("redfish"), POST_CODE: "AD" };
    const entries = () => there.redfish.log.filter((line) => line.endsWith("/PostCodes/Entries")).length;

    const running = runAction("wait-for-boot", { env });
    await expect.poll(entries, { interval: 20 }).toBe(1);
    there.redfish.sel.boots = [
      { startedMs: former.startedMs + 60_000, codes: ["0x19", "0x000000AD"] },
      former,
    ];
    const result = resultOf(await running);

    expect(result).toMatchObject({ ok: true, before: "POST code 0xad", data: { shownBy: "post-code" } });
    expect([there.readings(), entries()]).toEqual([2, 2]);
  });

  it.each([
    ["ipmi", "ipmi: POST codes cannot be read"],
    ["redfish", "redfish: the BMC has no log of POST codes"],
  ] as const)("is refused at once where no POST code can be read: %s", async (provider, message) => {
    await using there = await actionLab();

    const ended = await runAction("wait-for-boot", { env: { ...there.env(provider), POST_CODE: "AD" } });

    expect(resultOf(ended)).toMatchObject({ class: "unsupported", message });
  });

  it.each(["redfish", "ipmi"] as const)("sees that the override was used: %s", async (provider) => {
    await using there = await actionLab();
    await runAction("set-pxe-once", { env: { ...there.env(provider), MODE: "uefi" } });
    const written = there.writes().length;

    const result = await waitedFor(there, provider, () => there.machine.do("reset"));

    expect(result).toMatchObject({ changed: false, data: { shownBy: "override" } });
    expect(result.message).toMatch(/^boot override pxe once \(uefi\) used after /);
    expect(there.writes()).toHaveLength(written);
  });

  it("is refused at once where nothing would show a boot", async () => {
    await using there = await actionLab();

    const ended = await runAction("wait-for-boot", { env: there.env("ipmi") });

    expect(resultOf(ended)).toMatchObject({
      class: "unsupported",
      message:
        "ipmi: the BMC reports no boot progress and has no one-time boot override set (none): nothing would show a boot",
    });
  });
});
