import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { DriftSeen } from "../../../../worker/features/shared/drift-seen.ts";
import { getPower, StreamReader, statusClock, statusLab } from "./status-lab.ts";

const names = Array.from({ length: 1_000 }, (_, index) => `node-${String(index).padStart(4, "0")}`);
/** The changes that belong together come this long after the first of them. */
const BURST_MS = 50;
const PAUSE_MS = 500;

const seenBy = (page: string) => /data-seen="([^"]+)"/.exec(page)?.[1] ?? "";
const streamOf = (page: string) => /data-events="([^"]+)"/.exec(page)?.[1]?.replaceAll("&amp;", "&") ?? "";

type Lab = Awaited<ReturnType<typeof statusLab>>;

/** A page as a browser opens it: the page first, then its stream. */
async function openPage(lab: Lab, path: string, headers: Record<string, string> = {}) {
  const page = await lab.text(path);
  const reader = new StreamReader(`${lab.url}${streamOf(page)}&seen=${seenBy(page)}`, headers);
  onTestFinished(() => reader[Symbol.asyncDispose]());
  await reader.opened;
  return { page, reader };
}

describe("a stream", () => {
  test("sends the rows that changed, and the order where that has changed", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const action = lab.tell.action("a");
    lab.tell.taken(action, "node-01");
    const { reader } = await openPage(lab, "/");

    lab.tell.started(action, "node-01");
    clock.pass(BURST_MS);
    await reader.until(() => reader.updates.length === 1);

    const [update = {}] = reader.updates;
    expect(Object.keys(update).sort()).toEqual(["counts", "in-flight", "machines"]);
    expect(update["in-flight"]?.rows?.[action.key]).toContain('data-elapsed="50"');
    expect(Object.keys(update["counts"]?.rows ?? {})).toEqual(["running", "waiting"]);
    expect(update["machines"]).toEqual({ rows: { "node-01": expect.stringContaining("running") } });
  });

  test("empties the section of a rack that is gone, and sends that of a new one whole", async () => {
    const clock = statusClock();
    const rack = { name: "r1" };
    await using lab = await statusLab({
      clock,
      machines: ["a", "b"],
      machineLabels: () => ({ rack: rack.name }),
    });
    const { reader } = await openPage(lab, "/?group=rack");

    rack.name = "r2";
    lab.setMachines(["a", "b"]);
    clock.pass(BURST_MS);
    await reader.until(() => reader.updates.length === 1);

    const [update = {}] = reader.updates;
    expect(update["machines-r1"]).toEqual({ order: [] });
    expect(update["machines-r2"]?.order).toEqual(["a", "b"]);
    expect(Object.keys(update["machines-r2"]?.rows ?? {})).toEqual(["a", "b"]);
  });

  test("sends a comparison alone, also to a page that was opened before it and to one that was away", async () => {
    const clock = statusClock();
    const seen: { now: DriftSeen | undefined } = { now: undefined };
    await using lab = await statusLab({ clock, machineDrift: () => seen.now });
    const compared = (actual: string) => {
      const state = "different" as const;
      const differences = [{ setting: "power", field: "power", wanted: "on", actual, state } as const];
      seen.now = { differences, comparedAt: new Date(clock.now()) };
      lab.board.observer.compared?.("node-01");
    };
    const page = await lab.text("/machines/node-01");
    compared("off");
    const reader = new StreamReader(`${lab.url}${streamOf(page)}&seen=${seenBy(page)}`);
    onTestFinished(() => reader[Symbol.asyncDispose]());
    await reader.opened;
    await reader.until(() => reader.updates.length === 1);
    expect(reader.updates[0]?.["drift"]?.rows?.["power"]).toContain("off");

    compared("unplugged");
    clock.pass(PAUSE_MS);
    await reader.until(() => reader.updates.length === 2);

    expect(reader.updates[1]?.["drift"]?.rows?.["power"]).toContain("unplugged");
  });

  test("ends when its page cannot be rendered, and the others continue", async () => {
    const clock = statusClock();
    const machineDrift = (name: string) => {
      if (name === "node-02" && isBroken) throw new Error("no page today");
      return undefined;
    };
    let isBroken = false;
    await using lab = await statusLab({ clock, machineDrift });
    const { reader: broken } = await openPage(lab, "/machines/node-02");
    const { reader } = await openPage(lab, "/machines/node-01");

    isBroken = true;
    lab.tell.whole(lab.tell.action("own"), "node-01", getPower("on"));
    clock.pass(PAUSE_MS);
    await broken.ended;
    await reader.until(() => reader.updates.length === 1);

    expect(broken.updates).toEqual([]);
  });

  test("of a page of one machine says nothing of the others", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const { reader } = await openPage(lab, "/machines/node-01");

    lab.tell.whole(lab.tell.action("other"), "node-02");
    clock.pass(BURST_MS);
    await nextTurn();
    lab.tell.whole(lab.tell.action("own"), "node-01", getPower("on"));
    clock.pass(PAUSE_MS);
    await reader.until(() => reader.updates.length === 1);

    expect(Object.keys(reader.updates[0] ?? {}).sort()).toEqual([
      "ended",
      "ended-count",
      "machine-facts",
      "power",
      "power-count",
    ]);
  });

  test("follows a filter and a page as the page does", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock, machines: names });
    const { reader } = await openPage(lab, "/machines?q=node-0&page=2");

    for (const name of ["node-0000", "node-0150", "node-0999"]) lab.tell.started(lab.tell.action(name), name);
    clock.pass(BURST_MS);
    await reader.until(() => reader.updates.length === 1);

    expect(Object.keys(reader.updates[0]?.["machines"]?.rows ?? {})).toEqual(["node-0150"]);
  });

  test("sends the lines of a log as they come", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const action = lab.tell.action("a");
    lab.tell.started(action, "node-01");
    lab.tell.line(action, "first");
    const { reader } = await openPage(lab, `/actions/${action.key}`);

    lab.tell.line(action, "<second>");
    clock.pass(BURST_MS);
    await reader.until(() => reader.updates.length === 1);

    expect(reader.updates[0]).toEqual({
      log: { rows: { "1": expect.stringContaining("&lt;second&gt;") }, order: ["0", "1"] },
    });
  });

  test("beats while nothing happens", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const { reader } = await openPage(lab, "/");

    clock.pass(15_000);
    await reader.until(() => reader.events.some(({ event }) => event === "beat"));

    expect(reader.updates).toEqual([]);
  });

  test("says that a page is gone when the worker forgets what it was about", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const action = lab.tell.action("a");
    lab.tell.taken(action, "node-01");
    const { reader } = await openPage(lab, `/actions/${action.key}`);

    lab.tell.left(action);
    clock.pass(BURST_MS);
    await reader.ended;

    expect(reader.events.at(-1)?.event).toBe("gone");
  });

  test("ends when the worker closes", async () => {
    await using lab = await statusLab();
    const { reader } = await openPage(lab, "/");

    lab.page.close();

    await reader.ended;
    expect(reader.status).toBe(200);
  });
});

describe("a browser that reconnects", () => {
  test("with what it had seen last gets only what changed", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const { page, reader } = await openPage(lab, "/");
    lab.tell.started(lab.tell.action("a"), "node-01");
    clock.pass(BURST_MS);
    await reader.until(() => reader.updates.length === 1);
    const lastId = reader.events.at(-1)?.id ?? "";

    const again = new StreamReader(`${lab.url}${streamOf(page)}&seen=${seenBy(page)}`, {
      "Last-Event-ID": lastId,
    });
    await again.opened;
    lab.tell.line(lab.tell.action("a"), "no row of this page");
    lab.tell.taken(lab.tell.action("b"), "node-02");
    clock.pass(PAUSE_MS);
    await again.until(() => again.updates.length === 1);

    await again[Symbol.asyncDispose]();
    expect(again.updates[0]).not.toHaveProperty("failures");
    expect(again.updates[0]).toHaveProperty("in-flight");
  });

  test.each([
    ["after it has missed something", (seen: string) => seen.replace(/\d+$/, "0")],
    ["from another start of the worker", (seen: string) => seen.replace(/^[^-]+/, "other")],
    ["with nothing", () => ""],
  ])("%s gets all of its page", async (_, change) => {
    await using lab = await statusLab();
    lab.tell.started(lab.tell.action("a"), "node-01");
    const page = await lab.text("/");

    await using reader = new StreamReader(`${lab.url}${streamOf(page)}&seen=${change(seenBy(page))}`);
    await reader.until(() => reader.updates.length === 1);

    expect(Object.keys(reader.updates[0]?.["machines"]?.rows ?? {})).toEqual(["node-01", "node-02"]);
    expect(reader.updates[0]?.["in-flight"]?.order).toEqual([lab.tell.action("a").key]);
    expect(Object.keys(reader.updates[0]?.["counts"]?.rows ?? {})).toHaveLength(9);
  });
});

describe("load", () => {
  test("of 1,000 actions that end at once is one small update for each half second", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock, machines: names });
    const actions = names.map((name) => ({ name, action: lab.tell.action(name) }));
    for (const { name, action } of actions) lab.tell.started(action, name);
    const { reader } = await openPage(lab, "/");

    for (const { name, action } of actions) {
      for (let line = 0; line < 5; line += 1) lab.tell.line(action, `line ${line}`);
      lab.tell.ended(action, name, getPower("on"));
      lab.tell.reported(action);
      if (name.endsWith("00")) await nextTurn();
    }
    clock.pass(BURST_MS);
    await reader.until(() => reader.updates.length === 1);
    for (const { name } of actions.slice(-3)) lab.tell.started(lab.tell.action(`${name}-2`), name);
    clock.pass(BURST_MS);
    await nextTurn();
    const afterBurst = reader.updates.length;
    clock.pass(PAUSE_MS - BURST_MS);
    await reader.until(() => reader.updates.length === 2);

    const [burst, rest] = reader.updates;
    expect(afterBurst).toBe(1);
    expect(burst?.["counts"]?.rows?.["on"]).toContain("<b>1000</b>");
    expect(Object.keys(burst?.["machines"]?.rows ?? {})).toEqual(names);
    expect(burst?.["in-flight"]?.order).toEqual([]);
    expect(reader.bytes).toBeLessThan(250_000);
    expect(Object.keys(rest?.["machines"]?.rows ?? {})).toHaveLength(3);
  });

  test("of many changes to one page is made once for all of its readers", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const readers = await Promise.all(Array.from({ length: 5 }, () => openPage(lab, "/")));

    lab.tell.whole(lab.tell.action("a"), "node-01", getPower("off"));
    clock.pass(BURST_MS);
    await Promise.all(readers.map(({ reader }) => reader.until(() => reader.updates.length === 1)));

    const data = readers.map(({ reader }) => reader.events.find(({ event }) => event === "update")?.data);
    expect(new Set(data).size).toBe(1);
  });

  test("of more readers than may be is refused, and there is room again when one goes", async () => {
    await using lab = await statusLab({ mostReaders: 2 });
    const { reader } = await openPage(lab, "/");
    await openPage(lab, "/agent-ids");

    const refused = await lab.fetch("/events?of=/");
    await reader[Symbol.asyncDispose]();
    const status = await vi.waitFor(async () => {
      await using next = new StreamReader(`${lab.url}/events?of=/`);
      await next.opened;
      expect(next.status).toBe(200);
      return next.status;
    }, 30_000);

    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toBe("30");
    expect(status).toBe(200);
  });

  test.each(["//evil.example/", "https://evil.example/", "/events", "/assets/x", "relative"])(
    "of a stream about %s is refused",
    async (of) => {
      await using lab = await statusLab();

      const response = await lab.fetch(`/events?of=${encodeURIComponent(of)}`);

      expect(response.status).toBe(400);
      await response.text();
    },
  );
});
