import { describe, expect, it } from "vitest";
import { collection, SYSTEM, treeLab, treeOf } from "../../../../support/redfish-tree.ts";

const signal = new AbortController().signal;
const ALL = { windowMs: 0, limit: 0 };
const MANAGER = "/redfish/v1/Managers/1";
const HOUR_MS = 3_600_000;

const logs = (owner: string, ...names: readonly string[]) => ({
  [`${owner}/LogServices`]: collection(...names.map((name) => `${owner}/LogServices/${name}`)),
});
const link = (path: string) => ({ "@odata.id": path });

const hour = (number: number) => `2026-01-15T${String(number).padStart(2, "0")}:00:00Z`;

const entry = (path: string, id: number, Message: string, Created: string) => ({
  ...link(`${path}/${id}`),
  Id: String(id),
  ...{ Message, Created, Severity: "OK" },
});

/** A machine with a manager, and the logs of either. */
function machineWith(
  system: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
) {
  const own = more[`${SYSTEM}/LogServices`] ? { LogServices: link(`${SYSTEM}/LogServices`) } : {};
  const managers = more[`${MANAGER}/LogServices`] ? { LogServices: link(`${MANAGER}/LogServices`) } : {};
  return {
    ...treeOf({
      Links: { ManagedBy: [link(MANAGER)], Chassis: [link("/redfish/v1/Chassis/1")] },
      ...own,
      ...system,
    }),
    [MANAGER]: { ...link(MANAGER), ManagerType: "BMC", DateTime: "2026-01-15T12:00:00Z", ...managers },
    ...more,
  };
}

const SEL = `${SYSTEM}/LogServices/SEL/Entries`;
const IEL = `${MANAGER}/LogServices/IEL/Entries`;

describe("what the system reports", () => {
  it("has time and cause of the last restart, the number of boots and the state of the firmware", async () => {
    const tree = machineWith(
      {
        LastResetTime: "2026-01-15T04:00:00-05:00",
        LastResetCause: ["WatchdogExpiration"],
        BootProgress: { LastState: "OSRunning" },
        Oem: { Lenovo: { NumberOfReboots: 12 } },
      },
      { ...logs(SYSTEM, "SEL"), [SEL]: collection() },
    );
    await using lab = await treeLab(tree);

    expect(await lab.client.getPowerHistory(ALL, signal)).toMatchObject({
      power: "on",
      lastReset: {
        time: "2026-01-15T09:00:00.000Z",
        cause: "watchdog expiration",
        source: "LastResetTime, LastResetCause",
      },
      bootCount: 12,
      bootState: "OSRunning",
      clock: { time: "2026-01-15T12:00:00.000Z" },
      ...{ total: 0, events: [], unread: [] },
    });
  });

  it.each(["1970-01-01T00:00:00+00:00", "0000-00-00T00:00:00+00:00"])(
    "has no time that a clock showed which was not set: %s",
    async (shown) => {
      await using lab = await treeLab(machineWith({ LastResetTime: shown }, logs(SYSTEM)));

      const history = await lab.client.getPowerHistory(ALL, signal);

      expect(history).not.toHaveProperty("lastReset");
      expect(history.unread).toContainEqual({
        name: "LastResetTime",
        reason: `the BMC's clock was at ${shown}`,
      });
    },
  );
});

describe("the logs of system and manager", () => {
  it("are read, each event with the log that has it, and not those of other things", async () => {
    const tree = machineWith(
      {},
      {
        ...logs(SYSTEM, "SEL", "PostCodes", "Dump"),
        [SEL]: { Members: [entry(SEL, 1, "System is turning on.", hour(9))] },
        ...logs(MANAGER, "IEL", "Journal"),
        [IEL]: { Members: [entry(IEL, 1, "Host server reset by: admin.", hour(8))] },
      },
    );
    await using lab = await treeLab(tree);

    const { events, lastReset, unread } = await lab.client.getPowerHistory(ALL, signal);

    expect(events.map(({ source, message }) => [source, message])).toEqual([
      ["Managers/1/IEL", "Host server reset by: admin."],
      ["Systems/1/SEL", "System is turning on."],
    ]);
    expect(lastReset).toEqual({ time: "2026-01-15T09:00:00.000Z", source: "Systems/1/SEL" });
    expect(unread).toEqual([]);
    expect(
      lab.requests.map(({ path }) => path).filter((path) => /Journal|PostCodes|Dump/.test(path)),
    ).toEqual([]);
  });

  it("are found where the log service says they are", async () => {
    const elsewhere = `${SYSTEM}/Sel`;
    const tree = machineWith(
      {},
      {
        ...logs(SYSTEM, "SEL"),
        [`${SYSTEM}/LogServices/SEL`]: { ...link(`${SYSTEM}/LogServices/SEL`), Entries: link(elsewhere) },
        [elsewhere]: { Members: [entry(elsewhere, 1, "Server reset.", hour(9))] },
      },
    );
    await using lab = await treeLab(tree);

    expect((await lab.client.getPowerHistory(ALL, signal)).events).toHaveLength(1);
  });

  it("that cannot be read are named, and hide no other", async () => {
    const tree = machineWith(
      {},
      {
        ...logs(SYSTEM, "SEL"),
        [SEL]: { Members: [entry(SEL, 1, "Server reset.", hour(9))] },
        ...logs(MANAGER, "IEL", "EventLog"),
      },
    );
    await using lab = await treeLab(tree, ({ path }) => (path === IEL ? [500, {}] : undefined));

    const { events, unread } = await lab.client.getPowerHistory(ALL, signal);

    expect(events).toHaveLength(1);
    expect(unread).toEqual([
      { name: `${MANAGER}/LogServices/IEL`, reason: expect.stringContaining("500") },
      { name: `${MANAGER}/LogServices/EventLog`, reason: "the BMC does not have its entries" },
    ]);
  });

  it("that are not there are not taken for empty ones", async () => {
    await using lab = await treeLab(machineWith({ LogServices: link(`${SYSTEM}/LogServices`) }, {}));

    expect((await lab.client.getPowerHistory(ALL, signal)).unread).toEqual([
      { name: `${SYSTEM}/LogServices`, reason: "the BMC does not have it" },
      { name: "event logs", reason: "the BMC lists none" },
    ]);
  });

  it("that begin with the newest entry are read to the window's begin and no further", async () => {
    const page = (first: number, next: string) => ({
      Members: [first, first - 1].map((id) => entry(SEL, id, "Server reset.", hour(id))),
      "Members@odata.count": 20,
      "Members@odata.nextLink": next,
    });
    const pages = { [SEL]: page(20, `${SEL}/Page2`), [`${SEL}/Page2`]: page(18, `${SEL}/Page3`) };
    await using lab = await treeLab(machineWith({}, { ...logs(SYSTEM, "SEL"), ...pages }));

    const history = await lab.client.getPowerHistory({ windowMs: 2.5 * HOUR_MS, limit: 0 }, signal);

    expect(history.lastReset?.time).toBe("2026-01-15T20:00:00.000Z");
    expect(history.events.map(({ time }) => time?.slice(11, 13))).toEqual(["18", "19", "20"]);
    expect(history.unread).toEqual([]);
    expect(lab.requests.filter(({ path }) => path.startsWith(SEL))).toHaveLength(2);
  });
});

it("of a log whose entries take a request each, the newest are read, and it is said that there are more", async () => {
  const ids = Array.from({ length: 250 }, (_, index) => index + 1);
  const entries = ids.map((id) =>
    entry(SEL, id, "Server reset.", new Date(Date.UTC(2026, 0, id)).toISOString()),
  );
  const tree = machineWith(
    {},
    {
      ...logs(SYSTEM, "SEL"),
      [SEL]: collection(...entries.map((one) => one["@odata.id"])),
      ...Object.fromEntries(entries.map((one) => [one["@odata.id"], one])),
    },
  );
  await using lab = await treeLab(tree);

  const { lastReset, events, unread } = await lab.client.getPowerHistory(ALL, signal);

  expect(lastReset?.time).toBe(new Date(Date.UTC(2026, 0, 250)).toISOString());
  expect(events.length).toBeGreaterThan(150);
  expect(events.length).toBeLessThanOrEqual(200);
  expect(unread).toEqual([{ name: SEL, reason: "reading it takes too many requests" }]);
});

it("a BMC without a manager has no clock, which is said", async () => {
  await using lab = await treeLab(treeOf({ LastResetTime: hour(9) }));

  const { clock, lastReset, unread } = await lab.client.getPowerHistory(ALL, signal);

  expect(clock).toBeUndefined();
  expect(lastReset?.time).toBe("2026-01-15T09:00:00.000Z");
  expect(unread.map(({ name }) => name)).toEqual(["the manager's logs", "event logs", "the BMC's clock"]);
});
