import { afterEach, describe, expect, test } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(profile: string | RedfishProfile = "generic"): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", profile });
}

function selOf({ sel }: Session) {
  if (!sel) throw new Error("no SEL driver");
  return sel;
}

const use = <T>(run: (sel: ReturnType<typeof selOf>) => Promise<T>, hint?: unknown) =>
  withSession(bmc, { hint }, (session) => run(selOf(session)));

function fill(): void {
  bmc.sel.add("OK", "Fan 1 runs.", "2025-06-01T10:00:00+02:00");
  bmc.sel.add("Warning", "Fan 1 is slow.", "2025-06-01T08:30:00Z");
  bmc.sel.add("Critical", "Fan 1 has stopped.", "2025-06-01T09:00:00Z");
}

const entries = [
  { id: "1", at: "2025-06-01T08:00:00.000Z", severity: "ok", message: "Fan 1 runs." },
  { id: "2", at: "2025-06-01T08:30:00.000Z", severity: "warning", message: "Fan 1 is slow." },
  { id: "3", at: "2025-06-01T09:00:00.000Z", severity: "critical", message: "Fan 1 has stopped." },
];

describe.each([
  "generic",
  "dell-idrac9",
  "dell-13g",
  "hpe-ilo5",
  "supermicro",
  "lenovo-xcc",
  "openbmc",
  "fujitsu",
  "cisco-cimc",
])("on %s", (profile) => {
  test("the log is listed, oldest first, and cleared", async () => {
    await start(profile);
    fill();

    const [before, after] = await use(async (sel) => {
      const listed = await sel.list(signal);
      await sel.clear(signal);
      return [listed, await sel.list(signal)];
    });

    expect(before).toEqual(entries);
    expect(after).toEqual([]);
  });
});

test("a log of several pages is read whole, following each link once", async () => {
  await start("paging");
  fill();

  expect(await use((sel) => sel.list(signal))).toEqual(entries);
});

test("a time without an offset is UTC, and that of a clock which was never set is none", async () => {
  await start();
  bmc.sel.add("OK", "Fan 1 runs.", "2025-06-01T10:00:00");
  for (const time of ["1970-01-01T00:03:00Z", "0000-00-00T00:00:00Z"]) bmc.sel.add("OK", "Fan 2 runs.", time);

  const listed = await use((sel) => sel.list(signal));

  expect(listed.map(({ id, at }) => [id, at])).toEqual([
    ["1", "2025-06-01T10:00:00.000Z"],
    ["2", undefined],
    ["3", undefined],
  ]);
});

test("entries without a time go by their numbers, and an entry without words by what it has", async () => {
  await start("dell-idrac9");
  for (let n = 0; n < 11; n++) bmc.sel.add("odd", n === 0 ? "" : `event ${n + 1}`);

  const listed = await use((sel) => sel.list(signal));

  expect(listed.map(({ id }) => Number(id))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  expect(listed[0]).toEqual({ id: "1", message: "(no message)" });
});

test("the log is remembered: listing it again takes one request", async () => {
  await start();
  fill();
  const hint = await withSession(bmc, {}, async (session) => {
    await selOf(session).list(signal);
    return session.hint();
  });
  bmc.forget();

  const listed = await use((sel) => sel.list(signal), hint);

  expect(listed).toEqual(entries);
  expect(bmc.log).toEqual(["GET /redfish/v1/Managers/1/LogServices/SEL/Entries"]);
});

test("a remembered log that is gone is looked for again", async () => {
  await start();
  fill();
  const hint = { system: "/redfish/v1/Systems/1", sel: "/redfish/v1/Managers/1/LogServices/old" };

  expect(await use((sel) => sel.list(signal), hint)).toEqual(entries);
});

test("a BMC that lists a log and does not have it is unsupported and says which", async () => {
  await start();
  bmc.fail({ kind: "refuse", path: /LogServices\/SEL/, status: 404, times: 99 });

  const errors = await use(async (sel) => [
    await errorOf(sel.list(signal)),
    await errorOf(sel.clear(signal)),
  ]);

  expect(errors.map(({ class: errorClass, message }) => [errorClass, message])).toEqual(
    Array(2).fill([
      "unsupported",
      "the BMC lists /redfish/v1/Managers/1/LogServices/SEL, which it does not have",
    ]),
  );
});

test("a BMC with other logs only is unsupported and says which", async () => {
  await start("bare");

  const errors = await use(async (sel) => [
    await errorOf(sel.list(signal)),
    await errorOf(sel.clear(signal)),
  ]);

  expect(errors.map((error) => error.class)).toEqual(["unsupported", "unsupported"]);
  expect(errors[0]?.message).toContain("LogServices/Audit2");
});

test("a log that cannot be cleared is unsupported and keeps its entries", async () => {
  const base = redfishProfile("generic");
  await start({ ...base, sel: { ...base.sel, clearable: false } });
  fill();

  const error = await use((sel) => errorOf(sel.clear(signal)));

  expect(error.class).toBe("unsupported");
  expect(bmc.sel.entries).toHaveLength(3);
});
