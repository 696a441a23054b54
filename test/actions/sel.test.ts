import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab, TESTED_PROVIDERS } from "./lab.ts";

/** 2026-01-15T18:53:25Z and later: a fan too slow, and well again; a supply without input; a maker's own event. */
const RECORDS = [
  "000002a537696920000404410100ffff",
  "000002b537696920000404418100ffff",
  "000002c537696920000408606f03ffff",
  "000002d5376969200004c10770a50102",
].map((hex) => Buffer.from(hex, "hex"));

const FAN_SLOW = "fan sensor 0x41: below the lower non-critical threshold, going low";
const INPUT_LOST = "power supply sensor 0x60: input lost";

/** A machine whose log holds four events, one of them critical, through either provider. */
async function selLab(clearing: "erases" | "logged" | "ignored" = "erases") {
  const lab = await actionLab({ ipmi: { log: { records: RECORDS, clearing } } });
  const { sel } = lab.redfish;
  sel.add("Warning", "Fan 1 is slow.", "2026-01-15T18:53:25Z");
  sel.add("OK", "Fan 1 runs.", "2026-01-15T18:53:41Z");
  sel.add("Critical", "PSU 1 has no input.", "2026-01-15T18:53:57Z");
  sel.add("", "Door opened.");
  if (clearing === "logged") sel.clearingMessage = "The System Event Log (SEL) was cleared.";
  if (clearing === "ignored") lab.redfish.fail({ kind: "forget", path: /ClearLog/ });
  return lab;
}

describe.concurrent.each(TESTED_PROVIDERS)("list-sel via %s", (provider) => {
  it.each([
    [{ LIMIT: "1" }, 1, "4 entries in the event log, 1 critical; the newest 1 listed"],
    [{ LIMIT: "0" }, 4, "4 entries in the event log, 1 critical"],
    [{ SEVERITY: "warning" }, 2, "4 entries in the event log, 1 critical; 2 of at least warning"],
    [
      { SEVERITY: "warning", LIMIT: "1" },
      1,
      "4 entries in the event log, 1 critical; 2 of at least warning, the newest 1 listed",
    ],
    [{ SEVERITY: "critical" }, 1, "4 entries in the event log, 1 critical"],
  ])("given %j lists %i", async (env, listed, message) => {
    await using lab = await selLab();

    const ended = await runAction("list-sel", { env: { ...lab.env(provider), ...env } });

    const said = resultOf(ended);
    expect(said.message).toBe(`${message} via ${provider}`);
    expect(said.data).toMatchObject({ total: 4, critical: 1 });
    expect((said.data as { entries: readonly unknown[] }).entries).toHaveLength(listed);
  });
});

it.concurrent("list-sel says of an IPMI event what, where, and which way", async () => {
  await using lab = await selLab();

  const { data } = resultOf(await runAction("list-sel", { env: lab.env("ipmi") }));

  expect(data).toMatchObject({
    entries: [
      { at: "2026-01-15T18:53:25.000Z", message: `${FAN_SLOW}` },
      { message: `${FAN_SLOW}, ended` },
      { message: INPUT_LOST },
      { message: "sensor type 0xc1 sensor 0x07: event type 0x70 offset 5 (data 2 0x01, data 3 0x02)" },
    ],
  });
});

describe.concurrent.each(TESTED_PROVIDERS)("clear-sel via %s", (provider) => {
  const left = ({ redfish, ipmi }: Awaited<ReturnType<typeof actionLab>>) =>
    provider === "redfish" ? redfish.sel.entries.length : ipmi.events.size;

  it("empties the log, and the second time finds it empty", async () => {
    await using lab = await selLab();

    const first = await runAction("clear-sel", { env: lab.env(provider) });
    const writes = lab.writes();
    const second = await runAction("clear-sel", { env: lab.env(provider) });

    expect(resultOf(first)).toMatchObject({
      ok: true,
      message: `event log cleared of 4 entries via ${provider}`,
      changed: true,
    });
    expect(first.code).toBe(0);
    expect(left(lab)).toBe(0);
    expect(resultOf(second)).toMatchObject({ ok: true, changed: false });
    expect(resultOf(second).message).toBe(`event log already empty via ${provider}`);
    expect(lab.writes()).toEqual(writes);
  });
});
