import { describe, expect, test } from "vitest";
import { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { MESSAGE_LIMIT } from "../../../../shared/contract/result.ts";
import { getPower, statusClock, statusLab } from "./status-lab.ts";

const failed = { ok: false, class: "unreachable" as const, message: "connect ECONNREFUSED", exitCode: 11 };
/** The text between the tags, with one space for each gap. */
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
    tell.whole(tell.action("boot", { name: "power-status" }), "node-01", getPower("on"));
    tell.whole(tell.action("broken"), "node-02", failed);
    const running = tell.action("running", { name: "power-cycle" });
    tell.started(running, "node-01");
    tell.taken(tell.action("waiting", { name: "power-on" }), "node-03");

    const page = await lab.text("/");

    const text = shown(page);
    expect(text).toContain(
      "1 failed 1 agent ID without an answer 1 running, of 200 1 waiting 2 agent IDs 3 machines",
    );
    expect(text).toContain("1 on 0 off 2 power unknown");
    expect(text).toContain(
      "power-off node-02 ✕ failed: unreachable 0.0 s , 0 s ago default/broken connect ECONNREFUSED How to fix",
    );
    expect(text).toContain("pbnj-node-02 ✕ failing 0 s Unavailable");
    expect(text).toContain("power-cycle node-01 ▶ running 0 s of 2m 00s default/running");
    expect(text).toContain("power-on node-03 ◷ waiting 0 s default/waiting");
    expect(text).toContain("R node-01 F node-02 W node-03");
    expect(rowsOf(page, "machines")).toEqual(["node-01", "node-02", "node-03"]);
    expect(page).toContain('title="node-02: failed (unreachable)"');
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

  test("of 1,000 machines at work has all of them at a glance, and a bounded size", async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `node-${String(index).padStart(4, "0")}`);
    await using lab = await statusLab({ machines: names });
    const { tell } = lab;
    for (const name of names) {
      tell.observer.lane(`pbnj-${name}`, "busy");
      tell.whole(tell.action(`${name}-1`), name, { ...failed, message: "x".repeat(200) });
      tell.started(tell.action(`${name}-2`), name);
      tell.taken(tell.action(`${name}-3`), name);
    }

    const page = await lab.text("/");

    expect(rowsOf(page, "machines")).toEqual(names);
    expect(["failures", "in-flight"].map((id) => rowsOf(page, id).length)).toEqual([1, 4]);
    expect(page).toContain('<a href="/actions?state=failed">All 1000 actions</a>');
    expect(page).toContain('class="grid dense"');
    expect(Buffer.byteLength(page)).toBeLessThan(250_000);
  });

  test("is sorted by urgency on request, and filtered by a state beside others", async () => {
    await using lab = await statusLab({ machines: ["a", "b", "c"] });
    lab.tell.whole(lab.tell.action("1"), "b", failed);
    lab.tell.started(lab.tell.action("2"), "b");
    lab.tell.started(lab.tell.action("3"), "c");

    const pages = await Promise.all(
      ["sort=state", "sort=-name", "state=running"].map((q) => lab.text(`/?${q}`)),
    );

    expect(pages.map((page) => rowsOf(page, "machines"))).toEqual([
      ["b", "c", "a"],
      ["c", "b", "a"],
      ["b", "c"],
    ]);
  });

  test("counts failures with one class and cause as one row, and lists what is behind it", async () => {
    const names = ["a-1", "a-2", "a-3", "a-4", "b-1", "b-2"];
    await using lab = await statusLab({ machines: names });
    const { tell } = lab;
    for (const [index, name] of names.slice(0, 4).entries()) {
      const message = `${name}: connect ECONNREFUSED 192.0.2.${index}:443 after ${index}.5 s`;
      tell.whole(tell.action(name), name, { ...failed, message });
    }
    for (const [index, name] of ["b-1", "b-2"].entries()) {
      const message = `HTTP 401 at 2026-11-21T03:0${index}:10Z; not offered again before 03:15`;
      tell.whole(tell.action(name), name, { ...failed, class: "auth", message });
    }

    const page = await lab.text("/");
    const [, href = ""] = /<a href="([^"]+)">4 actions<\/a>/.exec(page) ?? [];
    const behind = await lab.text(href.replaceAll("&amp;", "&"));

    expect(shown(page)).toContain("4 actions a-4 , a-3 , a-2 and 1 more ✕ failed: unreachable");
    expect(shown(page)).toContain("…: connect ECONNREFUSED … after … How to fix");
    expect(shown(page)).toContain("2 actions b-2 , b-1 ✕ failed: auth");
    expect(rowsOf(behind, "actions")).toEqual(["a-4", "a-3", "a-2", "a-1"].map((id) => tell.action(id).key));
  });

  test("filters and divides machines by their labels", async () => {
    const racks: Readonly<Record<string, string>> = { a: "r10", b: "r9", c: "r9" };
    await using lab = await statusLab({
      machines: ["a", "b", "c", "d"],
      machineLabels: (name) => (racks[name] ? { rack: racks[name] } : undefined),
    });

    const [filtered, divided, mistaken] = await Promise.all(
      ["selector=rack%3Dr9", "group=rack", "group=row&sort=colour&selector=%3D"].map((q) =>
        lab.text(`/?${q}`),
      ),
    );

    expect(rowsOf(filtered ?? "", "machines")).toEqual(["b", "c"]);
    expect(["r9", "r10", "-without"].map((id) => rowsOf(divided ?? "", `machines-${id}`))).toEqual([
      ["b", "c"],
      ["a"],
      ["d"],
    ]);
    expect(shown(divided ?? "")).toContain("rack r9 2");
    expect(divided).toContain('class="list optional part wide"');
    expect(shown(mistaken ?? "")).toContain("There is no order by colour: choose name, power, state");
    expect(shown(mistaken ?? "")).toContain("= is not a selector such as rack=r12");
    expect(shown(mistaken ?? "")).toContain("no machine has the label row");
  });

  test("charts what ended and waited in the last hour, by minute", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    lab.tell.whole(lab.tell.action("a"), "node-01");
    clock.pass(60_000);
    lab.tell.whole(lab.tell.action("b"), "node-01", failed);
    for (const id of ["c", "d"]) lab.tell.taken(lab.tell.action(id), "node-01");

    const page = await lab.text("/");

    expect(shown(page)).toContain("Ended per minute 2 in the last hour, 1 failed, at most 1");
    expect(shown(page)).toContain("Waiting at most 2 at once in the last hour");
    expect(page).toContain('<path class="failed" d="M354 40v-40h5v40z"/>');
    expect(page).toContain('<path class="succeeded" d="M348 40v-40h5v40z"/>');
  });
});

describe("a failure", () => {
  test("has its whole reason, and a link to what fixes its class", async () => {
    await using lab = await statusLab();
    const message = "y".repeat(MESSAGE_LIMIT);
    lab.tell.whole(lab.tell.action("a"), "node-01", { ...failed, class: "tls", message });

    const pages = await Promise.all(["/", "/machines", "/actions", "/machines/node-01"].map(lab.text));

    for (const page of pages) {
      expect(page).toContain(message);
      expect(page).toContain('href="/help/tls"');
    }
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

    const page = await lab.text("/agent-ids");
    const failing = await lab.text("/agent-ids?state=failing");

    expect(rowsOf(page, "agent-ids").slice(0, 2)).toEqual(["agent-200", "agent-0"]);
    expect(rowsOf(page, "agent-ids")).toHaveLength(100);
    expect(rowsOf(failing, "agent-ids")).toEqual(["agent-200"]);
    expect(shown(failing)).toContain("agent-200 ✕ failing 0 s Unauthenticated");
  });
});

describe("a list", () => {
  test("is sorted by a column, whose head links to the other direction", async () => {
    await using lab = await statusLab({ machines: ["node-2", "node-10", "node-1"] });

    const page = await lab.text("/machines?sort=name&q=node");

    expect(rowsOf(page, "machines")).toEqual(["node-1", "node-2", "node-10"]);
    expect(page).toContain(
      '<th scope="col" aria-sort="ascending"><a href="/machines?q=node&amp;sort=-name">Machine',
    );
  });

  test("of machines has 100 per page, with power and actions", async () => {
    const names = Array.from({ length: 250 }, (_, index) => `node-${index}`);
    await using lab = await statusLab({ machines: names });
    lab.tell.whole(lab.tell.action("a", { name: "power-status" }), "node-0", getPower("on"));
    lab.tell.started(lab.tell.action("b", { name: "power-cycle" }), "node-0");

    const [first = "", last = "", beyond = ""] = await Promise.all(
      ["", "?page=3", "?page=99"].map((query) => lab.text(`/machines${query}`)),
    );

    expect(shown(first)).toContain(
      "node-0 ● on 0 s ago ▶ running power-cycle 0 s of 2m 00s power-status 0 s ago",
    );
    expect(shown(first)).toContain("node-1 not seen yet");
    expect(rowsOf(first, "machines")).toEqual(names.slice(0, 100));
    expect(rowsOf(last, "machines")).toEqual(names.slice(200));
    expect(rowsOf(beyond, "machines")).toEqual(names.slice(200));
    expect(first).toContain('<a rel="next" href="/machines?page=2">');
    expect(last).not.toContain('rel="next"');
  });
});

describe("a workflow's page", () => {
  test("has a timeline of its actions: waiting, running, retries", async () => {
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const { tell } = lab;
    const workflow = { workflowId: "default/wf 1" };
    const first = tell.action("first", workflow);
    tell.taken(first, "node-01");
    clock.pass(10_000);
    tell.started(first, "node-01");
    clock.pass(5_000);
    tell.line(first, JSON.stringify({ level: 30, msg: "BMC call failed, retrying", attempt: 1 }));
    clock.pass(15_000);
    tell.ended(first, "node-01", failed);
    const second = tell.action("second", workflow);
    tell.taken(second, "node-01");
    clock.pass(10_000);
    tell.whole(tell.action("other"), "node-02");

    const link = /href="(\/workflows\/[^"]+)"/.exec(await lab.text("/actions?q=wf"))?.[1] ?? "";
    const page = await lab.text(link);

    expect(link).toBe("/workflows/default/wf%201");
    expect(shown(page)).toContain("Workflow default/wf 1 Actions 1 waiting, 1 failed Agent IDs pbnj");
    expect(rowsOf(page, "timeline")).toEqual([first.key, second.key]);
    expect(page).toContain('aria-label="waited 10.0 s, ran 20.0 s, 1 retry"');
    expect(page).toContain('<rect class="waiting" x="0" width="250" height="16"/>');
    expect(page).toContain('<rect class="failed" x="250" width="500" height="16"/>');
    expect(page).toContain('<rect class="retry" x="375"');
    expect(page).toContain('<rect class="waiting" x="750" width="250" height="16"/>');
  });
});

describe("a paused machine", () => {
  test("is shown with the reason on every page", async () => {
    const paused = { reason: "fan <b>replacement", by: "inventory machines.yaml" };
    await using lab = await statusLab({
      machines: ["node-01", "node-02"],
      machinePause: (name) => (name === "node-01" ? paused : undefined),
    });
    const { tell } = lab;
    tell.whole(tell.action("read", { name: "power-status" }), "node-01", getPower("on"));
    const text = `fan <b>replacement (inventory machines.yaml)`.replace("<", "&lt;").replace(">", "&gt;");

    const overview = await lab.text("/");
    expect(shown(overview)).toContain("P node-01 ? node-02");
    expect(shown(overview)).toContain("2 machines 1 paused 1 on");
    expect(await lab.text("/machines?state=paused")).toContain(text);
    expect(rowsOf(await lab.text("/machines?state=paused"), "machines")).toEqual(["node-01"]);
    expect(await lab.text("/machines/node-01")).toContain(text);
    const { machines } = (await (await lab.fetch("/status.json")).json()) as { machines: object[] };
    expect(machines).toMatchObject([{ name: "node-01", paused }, { name: "node-02" }]);
    expect(machines[1]).not.toHaveProperty("paused");
  });
});

describe("a machine's page", () => {
  test("has what the inventory and its actions say of it, its failures and its power history", async () => {
    const clock = statusClock();
    const address = {
      host: "192.0.2.1",
      url: "https://192.0.2.1:8443",
      providers: ["redfish", "ipmi"] as const,
      certificate: "only the pinned one, SHA-256 ab",
    };
    await using lab = await statusLab({
      clock,
      mostEnded: 2,
      bmcAddress: (name) => (name === "node-01" ? address : undefined),
    });
    const { tell } = lab;
    tell.whole(tell.action("old"), "node-01", failed);
    for (const [index, state] of (["on", "on", "off"] as const).entries()) {
      clock.pass(60_000);
      tell.whole(tell.action(`read-${index}`, { name: "power-status" }), "node-01", getPower(state));
    }
    tell.whole(tell.action("info", { name: "bmc-info" }), "node-01", {
      machineFacts: { bmcFirmware: "1.45", serial: "S1" },
    });

    const page = await lab.text("/machines/node-01");

    const text = shown(page);
    expect(page).toContain('<a href="https://192.0.2.1:8443" rel="noreferrer">192.0.2.1:8443</a>');
    expect(text).toContain(
      "Providers, in order redfish, ipmi Accepted certificate only the pinned one, SHA-256 ab",
    );
    expect(text).toContain(
      "Serial number S1 BMC firmware 1.45 Details, last read by bmc-info at 2026-11-21 03:03:00 UTC",
    );
    expect(text).toContain(
      "✕ power-off failed 3m 00s ago , unreachable: connect ECONNREFUSED How to fix . A later action succeeded.",
    );
    expect(rowsOf(page, "ended").filter((key) => key === tell.action("old").key)).toHaveLength(1);
    expect(page).not.toContain(`/actions/${tell.action("old").key}`);
    expect(text).toContain(
      "○ off 2026-11-21 03:03:00 UTC power-status ● on 2026-11-21 03:01:00 UTC power-status",
    );
  });

  test("has its power with when and by what it was read, and its actions", async () => {
    await using lab = await statusLab({ machines: ["rack 1/node#1"] });
    const { tell } = lab;
    tell.whole(tell.action("a", { name: "power-status" }), "rack 1/node#1", getPower("off"));

    const link = /href="(\/machines\/[^"]+)"/.exec(await lab.text("/"))?.[1] ?? "";
    const page = await lab.text(link);

    expect(shown(page)).toContain("Machine rack 1/node#1");
    expect(shown(page)).toContain("○ off 0 s ago Read by power-status at 2026-11-21 03:00:00 UTC");
    expect(rowsOf(page, "ended")).toEqual([tell.action("a").key]);
  });

  test("has what differs from its desired state, and why it could not be compared", async () => {
    const comparedAt = new Date("2026-11-21T03:00:00Z");
    const failed = { class: "unreachable" as const, message: "connect <ECONNREFUSED>" };
    await using lab = await statusLab({
      machineDrift: (name) =>
        name === "node-02"
          ? { differences: [], error: failed }
          : {
              comparedAt,
              enforcement: { state: "waiting", reason: "until <noon>" },
              differences: [
                { setting: "power", field: "power", wanted: "on", actual: "off", state: "different" },
                { setting: "bios", field: "bios.A", wanted: 1, actual: "<b>\u202e", state: "pending" },
                { setting: "ntp", field: "ntp", wanted: ["a", "b"], state: "unknown", reason: "no <NTP>" },
              ],
            },
    });

    const page = await lab.text("/machines/node-01");

    expect(rowsOf(page, "drift")).toEqual(["power", "bios.A", "ntp"]);
    expect(shown(page)).toContain("Desired state, last compared 1 value differs at 2026-11-21 03:00:00 UTC");
    expect(shown(page)).toContain(
      "power different on off bios.A pending 1 &lt;b&gt;\\u202e ntp unknown a, b no &lt;NTP&gt;",
    );
    expect(shown(page)).toContain("Corrections waiting: until &lt;noon&gt;");
    expect(shown(await lab.text("/machines/node-02"))).toContain(
      "Comparison failed unreachable: connect &lt;ECONNREFUSED&gt;",
    );
    expect(shown(await lab.text("/"))).toContain("1 differs from the desired state");
    expect(JSON.parse(await lab.text("/status.json"))).toMatchObject({
      machines: [{ drift: { comparedAt: "2026-11-21T03:00:00.000Z" } }, { drift: { error: failed } }],
    });
  });

  test("has its source, and why what is known of it may be outdated", async () => {
    const problem = "machines.bmc.tinkerbell.org: edge.example does not answer";
    await using lab = await statusLab({
      machineOrigin: (name) => ({
        ...{ source: name === "node-01" ? "edge" : "local", object: `Machine bmcs/${name}` },
        ...(name === "node-01" && { problem }),
      }),
      cluster: () => ({
        problems: [],
        unusableMachines: 0,
        sources: [
          { name: "edge", machines: 1, problems: [problem] },
          { name: "local", machines: 1, problems: [] },
        ],
      }),
    });

    expect(shown(await lab.text("/machines/node-01"))).toContain(
      `Source edge: Machine bmcs/node-01 Problem of the source or object ${problem}`,
    );
    expect(shown(await lab.text("/machines/node-02"))).not.toContain("Problem of the source");
    const overview = await lab.text("/");
    expect(rowsOf(overview, "sources-failing")).toEqual(["edge"]);
    expect(shown(overview)).toContain(`edge 1 ${problem}`);
    expect(JSON.parse(await lab.text("/status.json"))).toMatchObject({
      machines: [{ origin: { source: "edge", problem } }, { origin: { source: "local" } }],
      machineSources: [{ name: "edge", problems: [problem] }, { name: "local" }],
    });
  });

  test("shows the agent IDs that a workflow names in another case", async () => {
    const agentIds = [{ named: "PBNJ-node-01", polled: "pbnj-node-01" }];
    await using lab = await statusLab({
      cluster: () => ({
        problems: [],
        unusableMachines: 0,
        sources: [],
        agentIdsInOtherCase: () => agentIds,
      }),
    });

    const overview = await lab.text("/");

    expect(rowsOf(overview, "agents-misnamed")).toEqual(["PBNJ-node-01"]);
    expect(shown(overview)).toContain("PBNJ-node-01 pbnj-node-01");
    expect(JSON.parse(await lab.text("/status.json"))).toMatchObject({ agentIdsInOtherCase: agentIds });
  });

  test("shows mistakes in Workflows", async () => {
    const problem = { workflow: "default/w", task: "t", action: "power-off", reason: "MODE must be hard" };
    await using lab = await statusLab({ workflowProblems: () => [problem] });

    expect(shown(await lab.text("/"))).toContain("default/w t / power-off MODE must be hard");
  });

  test("says when the inventory no longer has it", async () => {
    await using lab = await statusLab({ machines: ["node-01"] });
    lab.tell.started(lab.tell.action("a"), "node-01");

    lab.setMachines([]);

    expect(shown(await lab.text("/machines/node-01"))).toContain("no longer has this machine");
  });
});

describe("the help for an error class", () => {
  test.each(ErrorClass.options)(
    "%s is served by the worker, with the sections that it links to",
    async (name) => {
      await using lab = await statusLab();

      const response = await lab.fetch(`/help/${name}`);
      const page = await response.text();

      const anchors = [...page.matchAll(/href="#([^"]+)"/g)].map(([, anchor]) => anchor);
      const sections = [...page.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id);
      expect(response.status).toBe(200);
      expect(shown(page)).toContain(`How to fix ${name} Exit code`);
      expect(sections.length).toBeGreaterThan(0);
      expect(sections).toEqual(expect.arrayContaining(anchors.filter((anchor) => anchor !== "main")));
      expect(page).not.toMatch(/href="https?:|```|\*\*|<!--/);
      expect(page).not.toContain("data-events");
    },
  );
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
    expect(rowsOf(page, "log")).toEqual(["note", ...Array.from({ length: 200 }, (_, n) => `${n + 50}`)]);
  });
});

describe("what others wrote", () => {
  const hostile = `<script>alert(1)</script>"'&<img src=x onerror=alert(1)>\u001b[31m\u0007\u202e`;

  test("is text and nothing else, wherever it stands", async () => {
    const address = { host: hostile, url: hostile, providers: [], certificate: hostile };
    await using lab = await statusLab({ machines: [hostile], bmcAddress: () => address });
    const { tell } = lab;
    const about = { name: hostile, workflowId: hostile, taskId: hostile, agentId: hostile, image: hostile };
    const action = tell.action(hostile, about);
    tell.failing(hostile, hostile);
    tell.taken(action, hostile);
    tell.started(action, hostile);
    tell.line(action, hostile);
    tell.line(action, JSON.stringify({ level: 30, msg: hostile, [hostile]: hostile }));
    const machineFacts = { vendor: hostile, certificate: hostile };
    tell.ended(action, hostile, { ok: false, class: "bmc", message: hostile, machineFacts });
    tell.reported(action, "acknowledged", { message: hostile });

    const query = `q=${encodeURIComponent(hostile)}&state=${encodeURIComponent(hostile)}`;
    const paths = ["/", `/?${query}`, "/actions", "/agent-ids", `/machines/${encodeURIComponent(hostile)}`];
    const more = [
      "/machines",
      `/machines?sort=${encodeURIComponent(hostile)}&${query}`,
      `/workflows/${encodeURIComponent(hostile)}`,
      `/actions/${action.key}`,
      `/machines/${encodeURIComponent(`${hostile}2`)}`,
      `/agent-ids?${query}`,
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

describe("every answer", () => {
  const paths = [
    "/",
    "/machines",
    "/workflows/default/a",
    "/actions",
    "/agent-ids",
    "/machines/node-01",
    "/status.json",
    "/machines/absent",
    "/help/tls",
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
    expect(lab.board.revision).toBe(0);
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
    const clock = statusClock();
    await using lab = await statusLab({ clock });
    const { tell } = lab;
    tell.failing("pbnj", "Unavailable");
    tell.whole(tell.action("read", { name: "power-status" }), "node-01", getPower("on"));
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
          powerChanges: [{ state: "on", by: "power-status" }],
        },
        {
          name: "node-02",
          atHand: [],
          last: bad,
          recentFailures: [{ key: bad, name: "power-off", class: "unreachable" }],
        },
      ],
      lastHour: { succeeded: { 59: 1 }, failed: { 59: 1 }, waiting: { 59: 1, length: 60 } },
      failures: [bad],
      actions: [
        { key: now, phase: "running", elapsedMs: 1_500, timeoutMs: 120_000 },
        { key: bad, phase: "failed", class: "unreachable", reason: "connect ECONNREFUSED", exitCode: 11 },
        { key: read, phase: "succeeded", durationMs: 0, endedMsAgo: 1_500, report: "acknowledged" },
      ],
    });
  });
});
