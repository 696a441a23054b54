import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, TESTED_PROVIDERS } from "./lab.ts";

/** 2026-01-15T18:53:25Z and later: a supply without input, a watchdog that resets, the restart; a slow fan, which explains nothing. */
const RECORDS = [
  "000002a537696920000408606f03ffff",
  "000002b5376969200004" + "23716fc114ff",
  "000002c5376969200004" + "1d836f01ffff",
  "000002d537696920000404410100ffff",
].map((hex) => Buffer.from(hex, "hex"));
const RESTARTED = "2026-01-15T18:53:57.000Z";

/** A machine whose events both providers show. */
async function historyLab(ipmi: { readonly clockSeconds?: number } = {}) {
  const lab = await actionLab({
    redfish: { profile: "lenovo-xcc" },
    ipmi: { log: { records: RECORDS }, ...ipmi },
  });
  const { sel } = lab.redfish;
  sel.add("Critical", "PSU 1 has no input.", "2026-01-15T18:53:25Z");
  sel.add("Critical", "The watchdog timer reset the system.", "2026-01-15T18:53:41Z");
  sel.add("OK", "The server was restarted.", "2026-01-15T18:53:57Z");
  sel.add("Warning", "Fan 1 is slow.", "2026-01-15T18:54:13Z");
  lab.machine.bootCount = 12;
  return lab;
}

describe.concurrent.each(TESTED_PROVIDERS)("power-history via %s", (provider) => {
  const cause = {
    redfish: "The watchdog timer reset the system.",
    ipmi: "watchdog 2 sensor 0x71: hard reset (OS timer)",
  }[provider];

  it("says when and why the machine restarted, with the events around that, and changes nothing", async () => {
    await using lab = await historyLab();

    const ended = await runAction("power-history", { env: lab.env(provider) });

    const said = resultOf(ended);
    const boots = provider === "redfish" ? ", 12 boots" : "";
    expect(said.message).toMatch(`last restart at ${RESTARTED}: ${cause}${boots}; 3 events`);
    expect(said).toMatchObject({
      ...{ ok: true, changed: false },
      data: {
        power: "on",
        lastReset: { time: RESTARTED, cause },
        total: 3,
        events: [
          { kind: "supply", severity: "critical", time: "2026-01-15T18:53:25.000Z" },
          { kind: "watchdog", severity: "critical", message: cause },
          { kind: "reset", severity: "ok", time: RESTARTED },
        ],
        unread: [],
      },
    });
    expect(ended).toMatchObject({ code: 0, stderr: "" });
    expect(lab.writes()).toEqual([]);
    expect(lab.done()).toEqual([]);
  });

  it("lists the events of the window, those next to the restart first", async () => {
    await using lab = await historyLab();

    const [narrow, least] = await Promise.all(
      [{ WINDOW: "20s" }, { LIMIT: "1" }].map(async (env) =>
        resultOf(await runAction("power-history", { env: { ...lab.env(provider), ...env } })),
      ),
    );

    expect(narrow?.message).toContain("; 2 of 3 events");
    expect(narrow?.data).toMatchObject({ events: [{ kind: "watchdog" }, { kind: "reset" }] });
    expect(least?.data).toMatchObject({ events: [{ kind: "reset" }] });
  });

  it("prints one table with the times, the last restart among the events", async () => {
    await using lab = await historyLab();

    const ended = await runAction("power-history", { env: { ...lab.env(provider), OUTPUT: "table" } });

    const rows = ended.stdout.split("\n").filter((line) => /^(time|2026|LAST| )/.test(line));
    expect(rows.map((row) => row.split(/ {2,}/).slice(0, 2))).toEqual([
      ["time (UTC)", "event"],
      ["2026-01-15 18:53:25", "supply"],
      ["2026-01-15 18:53:41", "watchdog"],
      ["2026-01-15 18:53:57", "reset"],
      ["2026-01-15 18:53:57", "LAST RESTART"],
      ...(provider === "redfish" ? [["", "boot count"]] : []),
    ]);
  });

  it("reads in a dry run, too", async () => {
    await using lab = await historyLab();

    const ended = await runAction("power-history", { env: { ...lab.env(provider), DRY_RUN: "true" } });

    expect(resultOf(ended)).toMatchObject({ ok: true, data: { lastReset: { time: RESTARTED } } });
  });

  it("tells how far the BMC's clock is away", async () => {
    // The action's clock is faster than ours: hours are nothing beside 100 days.
    const behind = 8_640_000;
    await using lab = await historyLab({ clockSeconds: Math.floor(Date.now() / 1_000) - behind });
    lab.redfish.manager.clockSkewMs = -1_000 * behind;

    const said = resultOf(await runAction("power-history", { env: lab.env(provider) }));

    expect(said.message).toMatch(/the BMC's clock is 8[67]\d{5} s behind/);
  });
});

it.each([
  [{ WINDOW: "a day" }, "WINDOW"],
  [{ LIMIT: "-1" }, "LIMIT"],
  [{ SENSOR_NAMES: "perhaps" }, "SENSOR_NAMES"],
])("power-history given %j sends nothing and names %s", async (env, name) => {
  await using lab = await historyLab();

  const ended = await runAction("power-history", { env: { ...lab.env("redfish"), ...env } });

  expect(resultOf(ended)).toMatchObject({
    ok: false,
    class: "usage",
    message: expect.stringContaining(name),
  });
  expect(lab.traffic()).toBe(0);
});

it("power-history names sensors with IPMI, unless it is told not to", async () => {
  await using lab = await actionLab({ ipmi: { log: { records: RECORDS } } });

  const run = async (env: Readonly<Record<string, string>>) =>
    resultOf(await runAction("power-history", { env: { ...lab.env("ipmi"), ...env } }));

  expect((await run({})).roundTrips).toBeGreaterThan((await run({ SENSOR_NAMES: "false" })).roundTrips ?? 0);
});
