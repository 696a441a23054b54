import { describe, expect, test } from "vitest";
import { MESSAGE_LIMIT } from "../../../../shared/contract/result.ts";
import { HandClock, readPower, statusLab } from "./status-lab.ts";

const failed = { ok: false, class: "unreachable" as const, message: "connect ECONNREFUSED", exitCode: 11 };
/** What stands between the tags, with one space for each gap. */
const shown = (page: string) =>
  page
    .replace(/^.*<main/s, "<main")
    .replace(/<[^>]*>/g, " ")
    .replace(/\s+/g, " ");
const rowsOf = (page: string, section: string) => {
  const [, body = ""] = new RegExp(`data-section="${section}">(.*?)</(?:tbody|ol|ul)>`, "s").exec(page) ?? [];
  return [...body.matchAll(/data-row="([^"]*)"/g)].map(([, id]) => id);
};

describe("the overview", () => {
  test("shows problems, running actions, and each machine's power as last seen", async () => {
    await using lab = await statusLab({ machines: ["node-01", "node-02", "node-03"] });
    const { tell } = lab;
    tell.observer.lane("pbnj-node-01", "busy");
    tell.failing("pbnj-node-02", "Unavailable");
    tell.whole(tell.action("boot", { name: "power-status" }), "node-01", readPower("on"));
    tell.whole(tell.action("broken"), "node-02", failed);
    const running = tell.action("running", { name: "power-cycle" });
    tell.started(running, "node-01");
    tell.taken(tell.action("waiting", { name: "power-on" }), "node-03");

    const page = await lab.text("/");

    const text = shown(page);
    expect(text).toContain(
      "1 failed 1 lanes without an answer 1 running, of 200 1 waiting 2 lanes 3 machines",
    );
    expect(text).toContain("1 on 0 off 2 power not known");
    expect(text).toContain("power-off node-02 ✕ failed: unreachable 0.0 s , 0 s ago default/broken connect");
    expect(text).toContain("pbnj-node-02 ✕ failing 0 s Unavailable");
    expect(text).toContain("power-cycle node-01 ▶ running 0 s of 2m 00s default/running");
    expect(text).toContain("node-01 ● on 0 s ago ▶ running power-cycle 0 s of 2m 00s power-status 0 s ago");
    expect(text).toContain("power-on node-03 ◷ waiting 0 s default/waiting");
    expect(text).toContain("node-03 not seen yet ◷ waiting power-on");
    expect(rowsOf(page, "machines")).toEqual(["node-01", "node-02", "node-03"]);
  });

  test("says that nothing is there when nothing is there", async () => {
    await using lab = await statusLab({ machines: [] });

    const text = shown(await lab.text("/"));

    for (const none of ["Nothing.", "The server answers every lane.", "Nothing runs.", "Nothing waits."]) {
      expect(text).toContain(none);
    }
    expect(text).toContain("The inventory has none.");
  });

  test("is narrowed down by a part of a name, without scripts", async () => {
    await using lab = await statusLab({ machines: ["rack1-a", "rack1-b", "rack2-a"] });
    const { tell } = lab;
    for (const name of ["rack1-a", "rack2-a"]) tell.whole(tell.action(name), name, failed);

    const page = await lab.text("/?q=RACK1-");

    expect(rowsOf(page, "machines")).toEqual(["rack1-a", "rack1-b"]);
    expect(rowsOf(page, "failures")).toEqual([tell.action("rack1-a").key]);
    expect(page).toContain('value="rack1-"');
  });

  test("is narrowed down to a power state; what was never seen is unknown", async () => {
    await using lab = await statusLab({ machines: ["a", "b", "c"] });
    lab.tell.whole(lab.tell.action("1"), "a", readPower("off"));
    lab.tell.whole(lab.tell.action("2"), "b", readPower("unknown"));

    const pages = await Promise.all(["off", "unknown", "on"].map((state) => lab.text(`/?state=${state}`)));

    expect(pages.map((page) => rowsOf(page, "machines"))).toEqual([["a"], ["b", "c"], ["none"]]);
  });

  test("of 1,000 machines at work has 100 per page, and a bounded size", async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `node-${String(index).padStart(4, "0")}`);
    await using lab = await statusLab({ machines: names });
    const { tell } = lab;
    for (const name of names) {
      tell.observer.lane(`pbnj-${name}`, "busy");
      tell.whole(tell.action(`${name}-1`), name, { ...failed, message: "x".repeat(200) });
      tell.started(tell.action(`${name}-2`), name);
      tell.taken(tell.action(`${name}-3`), name);
    }

    const first = await lab.text("/");
    const last = await lab.text("/?page=10");
    const beyond = await lab.text("/?page=99");

    expect(rowsOf(first, "machines")).toEqual(names.slice(0, 100));
    expect(rowsOf(last, "machines")).toEqual(names.slice(900));
    expect(rowsOf(beyond, "machines")).toEqual(names.slice(900));
    expect(first).toContain('<a rel="next" href="/?page=2#machines">');
    expect(last).not.toContain('rel="next"');
    expect(["failures", "running", "waiting", "recent"].map((id) => rowsOf(first, id).length)).toEqual([
      25, 50, 25, 25,
    ]);
    expect(first).toContain('<a href="/actions?state=failed">All 1000 actions</a>');
    expect(Buffer.byteLength(first)).toBeLessThan(250_000);
  });
});

describe("the lists", () => {
  test("of actions has those in flight first, and can be filtered", async () => {
    await using lab = await statusLab();
    const { tell } = lab;
    tell.whole(tell.action("old"), "node-01");
    tell.whole(tell.action("bad"), "node-02", failed);
    tell.started(tell.action("now"), "node-01");

    const pages = await Promise.all(
      ["", "?state=ended", "?state=failed", "?q=node-01"].map((query) => lab.text(`/actions${query}`)),
    );

    const keys = (...ids: string[]) => ids.map((id) => tell.action(id).key);
    expect(pages.map((page) => rowsOf(page, "actions"))).toEqual([
      keys("now", "bad", "old"),
      keys("bad", "old"),
      keys("bad"),
      keys("now", "old"),
    ]);
  });

  test("of lanes has those without an answer first, 100 per page", async () => {
    await using lab = await statusLab();
    for (let index = 0; index < 250; index += 1) lab.tell.observer.lane(`agent-${index}`, "polling");
    lab.tell.failing("agent-200", "Unauthenticated");

    const page = await lab.text("/lanes");
    const failing = await lab.text("/lanes?state=failing");

    expect(rowsOf(page, "lanes").slice(0, 2)).toEqual(["agent-200", "agent-0"]);
    expect(rowsOf(page, "lanes")).toHaveLength(100);
    expect(rowsOf(failing, "lanes")).toEqual(["agent-200"]);
    expect(shown(failing)).toContain("agent-200 ✕ failing 0 s Unauthenticated");
  });
});

describe("a machine's page", () => {
  test("has its power with when and by what it was read, and its actions", async () => {
    await using lab = await statusLab({ machines: ["rack 1/node#1"] });
    const { tell } = lab;
    tell.whole(tell.action("a", { name: "power-status" }), "rack 1/node#1", readPower("off"));

    const link = /href="(\/machines\/[^"]+)"/.exec(await lab.text("/"))?.[1] ?? "";
    const page = await lab.text(link);

    expect(shown(page)).toContain("Machine rack 1/node#1");
    expect(shown(page)).toContain("○ off 0 s ago Read by power-status at 2026-11-21 03:00:00 UTC");
    expect(rowsOf(page, "ended")).toEqual([tell.action("a").key]);
  });

  test("says when the inventory no longer has it", async () => {
    await using lab = await statusLab({ machines: ["node-01"] });
    lab.tell.started(lab.tell.action("a"), "node-01");

    lab.setMachines([]);

    expect(shown(await lab.text("/machines/node-01"))).toContain("no longer has this machine");
  });
});

describe("an action's page", () => {
  test("has everything that is known of it, and its log", async () => {
    await using lab = await statusLab();
    const { tell } = lab;
    const action = tell.action("a", { taskId: "task-7", agentId: "pbnj-node-01" });
    tell.started(action, "node-01", { adopted: true, startedAt: new Date("2026-11-21T02:59:00Z") });
    tell.line(action, JSON.stringify({ level: 40, msg: "BMC busy", attempt: 2, wait: "2 s" }));
    tell.line(action, "plain");
    const common = { action: "power-off", ok: false, message: "m", durationMs: 1, roundTrips: 1 };
    tell.ended(action, "node-01", { ...failed, result: { ...common, provider: "redfish" } });
    tell.reported(action, "rejected", { message: "power-off failed; on-failure succeeded" });

    const text = shown(await lab.text(`/actions/${action.key}`));

    for (const fact of [
      ...["State ✕ failed adopted", "Class unreachable", "Reason connect ECONNREFUSED", "Machine node-01"],
      ...["Report report rejected by the server", "Reported power-off failed; on-failure succeeded"],
      ...["Workflow default/a", "Task task-7", "Action ID a", "Agent ID pbnj-node-01", "Runtime docker"],
      ...["Provider redfish", "Exit code 11", "Image registry.example/power-off:v1"],
      "03:00:00 warn BMC busy attempt=2 wait=&quot;2 s&quot;",
      "03:00:00 info plain",
    ]) {
      expect(text).toContain(fact);
    }
  });

  test("says what was reported only where that is something else", async () => {
    await using lab = await statusLab();
    const [pending, same] = [lab.tell.action("a"), lab.tell.action("b")];
    for (const action of [pending, same]) lab.tell.ended(action, "node-01", { message: "off" });
    lab.tell.reported(same, "acknowledged", { message: "off" });

    const texts = await Promise.all(
      [pending, same].map(async ({ key }) => shown(await lab.text(`/actions/${key}`))),
    );

    expect(texts[0]).toContain("Report report not acknowledged yet");
    expect(texts.join()).not.toContain("Reported");
  });

  test("keeps the last 200 lines and says how many are gone", async () => {
    await using lab = await statusLab();
    const action = lab.tell.action("a");
    lab.tell.started(action, "node-01");
    for (let line = 0; line < 250; line += 1) lab.tell.line(action, `line ${line}`);

    const page = await lab.text(`/actions/${action.key}`);

    expect(shown(page)).toContain("50 lines before these are no longer kept here.");
    expect(rowsOf(page, "log")).toEqual(["dropped", ...Array.from({ length: 200 }, (_, n) => `${n + 50}`)]);
  });
});

describe("what others wrote", () => {
  const hostile = `<script>alert(1)</script>"'&<img src=x onerror=alert(1)>\u001b[31m\u0007\u202e`;

  test("is text and nothing else, wherever it stands", async () => {
    await using lab = await statusLab({ machines: [hostile] });
    const { tell } = lab;
    const about = { name: hostile, workflowId: hostile, taskId: hostile, agentId: hostile, image: hostile };
    const action = tell.action(hostile, about);
    tell.failing(hostile, hostile);
    tell.taken(action, hostile);
    tell.started(action, hostile);
    tell.line(action, hostile);
    tell.line(action, JSON.stringify({ level: 30, msg: hostile, [hostile]: hostile }));
    tell.ended(action, hostile, { ok: false, class: "bmc", message: hostile });
    tell.reported(action, "acknowledged", { message: hostile });

    const query = `q=${encodeURIComponent(hostile)}&state=${encodeURIComponent(hostile)}`;
    const paths = ["/", `/?${query}`, "/actions", "/lanes", `/machines/${encodeURIComponent(hostile)}`];
    const more = [
      `/actions/${action.key}`,
      `/machines/${encodeURIComponent(`${hostile}2`)}`,
      `/lanes?${query}`,
    ];
    const pages = await Promise.all([...paths, ...more].map(lab.text));

    for (const page of pages) {
      expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
      expect(page).not.toMatch(/<script>|<img|[^\P{Cc}\n]|\u202e/u);
      expect(page.match(/<script[^>]*>/g)).toEqual([expect.stringMatching(/^<script type="module" src="/)]);
    }
  });

  test("is shortened where it is endless", async () => {
    await using lab = await statusLab();
    const long = "x".repeat(1_000_000);
    const about = { name: long, workflowId: long, taskId: long, agentId: long, image: long };
    const action = lab.tell.action("a", about);
    lab.tell.started(action);
    lab.tell.line(action, long);
    lab.tell.ended(action, undefined, { message: "m".repeat(MESSAGE_LIMIT) });

    const page = await lab.text(`/actions/${action.key}`);

    expect(page.length).toBeLessThan(10_000);
  });
});

describe("the wall clock", () => {
  test("that jumps into the past makes no time negative", async () => {
    const clock = new HandClock();
    await using lab = await statusLab({ clock });
    const { tell } = lab;
    tell.observer.lane("pbnj", "polling");
    tell.whole(tell.action("a"), "node-01", readPower("on"));
    const running = tell.action("b");
    tell.started(running, "node-01");

    clock.pass(10_000);
    clock.wallMs -= 86_400_000;
    const pages = await Promise.all(["/", "/lanes", `/actions/${running.key}`].map(lab.text));
    const json = await lab.text("/status.json");

    for (const page of pages) {
      const times = [...page.matchAll(/data-elapsed="([^"]*)"/g)].map(([, ms]) => Number(ms));
      expect(times.length).toBeGreaterThan(1);
      expect(new Set(times)).toEqual(new Set([10_000]));
    }
    expect(json).not.toMatch(/Ms[A-Za-z]*":-/);
  });
});

describe("every answer", () => {
  const paths = [
    "/",
    "/actions",
    "/lanes",
    "/machines/node-01",
    "/status.json",
    "/machines/absent",
    "/events",
  ];

  test.each(paths)("%s lets nothing but the worker's own files be loaded", async (path) => {
    await using lab = await statusLab();

    const { headers } = await lab.fetch(path, { method: "HEAD" });

    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|http/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(lab.page.board.revision).toBe(0);
  });

  test("has no script or style in it, and names nothing outside", async () => {
    await using lab = await statusLab();

    const page = await lab.text("/");

    expect(page).not.toMatch(/ (?:style|on[a-z]+)=|<style|https?:/);
    expect(page).toMatch(/^<!doctype html>\n<html lang="en">/);
  });

  test.each([
    ["an unknown machine", "/machines/absent"],
    ["an unknown action", `/actions/${"0".repeat(32)}`],
    ["a name that is none", "/machines/%E0%A4%A"],
  ])("about %s is a page that says so", async (_, path) => {
    await using lab = await statusLab();

    const response = await lab.fetch(path);

    expect(response.status).toBe(404);
    expect(await response.text()).toContain("no longer kept here");
  });
});

describe("the files of the page", () => {
  test("have their content in their name, and are kept by browsers", async () => {
    await using lab = await statusLab();
    const page = await lab.text("/");
    const paths = [...page.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path ?? "");

    const responses = await Promise.all(paths.map((path) => lab.fetch(path)));
    const etag = responses[0]?.headers.get("etag") ?? "";
    const again = await lab.fetch(paths[0] ?? "", { headers: { "If-None-Match": `"other", W/${etag}` } });
    const other = await lab.fetch(paths[0] ?? "", { headers: { "If-None-Match": '"other"' } });

    expect(paths.map((path) => path.replace(/[0-9a-f]{16}/, "#"))).toEqual([
      "/assets/icon-#.svg",
      "/assets/style-#.css",
      "/assets/script-#.js",
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(responses.map(({ headers }) => headers.get("content-type"))).toEqual([
      "image/svg+xml; charset=utf-8",
      "text/css; charset=utf-8",
      "text/javascript; charset=utf-8",
    ]);
    expect(responses[0]?.headers.get("cache-control")).toContain("immutable");
    expect(again.status).toBe(304);
    expect(other.status).toBe(200);
  });
});

describe("status.json", () => {
  test("has the same facts for scripts", async () => {
    const clock = new HandClock();
    await using lab = await statusLab({ clock });
    const { tell } = lab;
    tell.failing("pbnj", "Unavailable");
    tell.whole(tell.action("read", { name: "power-status" }), "node-01", readPower("on"));
    tell.whole(tell.action("bad"), "node-02", failed);
    tell.started(tell.action("now"), "node-01");
    clock.pass(1_500);

    const status = await (await lab.fetch("/status.json")).json();

    const [now, bad, read] = ["now", "bad", "read"].map((id) => tell.action(id).key);
    expect(status).toMatchObject({
      upMs: 1_500,
      slots: { limit: 200, taken: 0 },
      lanes: [{ agentId: "pbnj", state: "failing", sinceMs: 1_500, code: "Unavailable" }],
      machines: [
        {
          name: "node-01",
          power: { state: "on", by: "power-status", ageMs: 1_500 },
          atHand: [now],
          last: read,
        },
        { name: "node-02", atHand: [], last: bad },
      ],
      failures: [bad],
      actions: [
        { key: now, phase: "running", elapsedMs: 1_500, timeoutMs: 120_000 },
        { key: bad, phase: "failed", class: "unreachable", reason: "connect ECONNREFUSED", exitCode: 11 },
        { key: read, phase: "succeeded", durationMs: 0, endedMsAgo: 1_500, report: "acknowledged" },
      ],
    });
  });
});
