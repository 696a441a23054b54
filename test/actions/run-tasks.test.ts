import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { redfishProfile } from "../../simulators/redfish/profiles.ts";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually, REFUSING_PORT, TESTED_PROVIDERS } from "./lab.ts";

const ISO = "http://192.0.2.9/rescue.iso";

/** The list that this action is for. */
const REPROVISION = `
- powerAction: off
- bootDevice:
    device: pxe
    efiBoot: true
- powerAction: on
`;

type Lab = Awaited<ReturnType<typeof actionLab>>;

const logins = ({ redfish, ipmi }: Lab) =>
  redfish.log.filter((line) => line.startsWith("POST") && line.endsWith("/Sessions")).length +
  ipmi.log.filter((name) => name === "RAKP1").length;
const openSessions = ({ redfish, ipmi }: Lab) => redfish.sessions.count + ipmi.sessions();
const json = (...tasks: readonly unknown[]) => JSON.stringify(tasks);

describe.concurrent.each(TESTED_PROVIDERS)("via %s", (provider) => {
  it("a list is carried out in order within one session", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env(provider), REDFISH_AUTH: "session", TASKS: REPROVISION },
    });

    const said = resultOf(ended);
    expect(said).toMatchObject({ action: "run-tasks", ok: true, provider, changed: true });
    expect(said.message).toMatch(
      new RegExp(
        `^3 tasks done: off after .* \\(forced\\); boot pxe once \\(uefi\\); on after .* s via ${provider}$`,
      ),
    );
    expect(said.data).toEqual({
      tasks: [
        {
          task: "off",
          message: expect.stringMatching(/^off after/),
          before: "on",
          after: "off",
          changed: true,
          durationMs: expect.any(Number),
        },
        {
          task: "boot pxe once (uefi)",
          message: "boot pxe once (uefi)",
          after: { device: "pxe", persistent: false, mode: "uefi" },
          changed: true,
          durationMs: expect.any(Number),
        },
        {
          task: "on",
          message: expect.stringMatching(/^on after/),
          before: "off",
          after: "on",
          changed: true,
          durationMs: expect.any(Number),
        },
      ],
    });
    expect(ended.code).toBe(0);
    const lines = ended.stderr
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines.every(({ progress }) => progress === true)).toBe(true);
    // It waits for the machine between them, where that is not quicker.
    expect(lines.map(({ msg }) => msg).filter((text) => text.startsWith("task "))).toEqual([
      "task 1 of 3 (off)",
      "task 2 of 3 (boot pxe once (uefi))",
      "task 3 of 3 (on)",
    ]);
    expect(lab.done()).toEqual(["off", "on"]);
    expect(lab.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
    expect(logins(lab)).toBe(1);
    await eventually(() => openSessions(lab) === 0);
  });

  it("what is so already is left alone, and status reads", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env(provider), TASKS: json({ powerAction: "on" }, { powerAction: "status" }) },
    });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: `2 tasks done: already on; on via ${provider}`,
      changed: false,
      data: {
        tasks: [
          { task: "on", message: "already on", before: "on", after: "on", changed: false },
          { task: "status", message: "on", before: "on", after: "on", changed: false },
        ],
      },
    });
    expect(lab.writes()).toEqual([]);
  });

  it.each([
    ["off", "on", ["off"], /^off after .* \(forced\)/],
    ["soft", "on", ["soft-off"], /^off after .* \(graceful\)/],
    ["soft-then-hard", "on", ["soft-off"], /^off after .* \(graceful\)/],
    ["cycle", "on", ["cycle"], /^cycled in /],
    ["reset", "on", ["reset"], /^reset, on after /],
    ["on", "off", ["on"], /^on after /],
    ["status", "off", [], /^off via/],
  ] as const)("powerAction %s does what it does in Rufio", async (powerAction, power, done, message) => {
    await using lab = await actionLab({ machine: { power } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env(provider), TASKS: json({ powerAction }) },
    });

    expect(resultOf(ended).message).toMatch(message);
    expect(ended.code).toBe(0);
    expect(lab.done()).toEqual(done);
  });

  it("the first failure ends the list and says what was done before it", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    lab.redfish.fail({ kind: "forget", method: "PATCH", times: 10 });
    lab.ipmi.faults.refuses = (name) => (name === "Set System Boot Options" ? 0 : undefined);

    const ended = await runAction("run-tasks", { env: { ...lab.env(provider), TASKS: REPROVISION } });

    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: false, class: "verify", provider, changed: true });
    expect(said.message).toMatch(
      new RegExp(
        `^task 2 of 3 \\(boot pxe once \\(uefi\\)\\): ${provider}: asked for pxe once \\(uefi\\), the BMC keeps none; ` +
          "task 1 done: off after .* s \\(forced\\)$",
      ),
    );
    expect(said.data).toMatchObject({ tasks: [{ task: "off", before: "on", after: "off", changed: true }] });
    expect(ended.code).toBe(15);
    expect(lab.done()).toEqual(["off"]);
  });

  it("a dry run plans every task as if those before it were done, and changes nothing", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env(provider), TASKS: REPROVISION, DRY_RUN: "true" },
    });

    const on = provider === "redfish" ? /Reset \{"ResetType":"On"\}$/ : /^Chassis Control: .* \(0x01\)$/;
    const said = resultOf(ended);
    expect(said).toMatchObject({ ok: true, changed: false });
    expect(said.message).toMatch(
      /^dry run, each task as if the earlier ones had succeeded: task 1 \(off\): now on, /,
    );
    expect(said.data).toEqual({
      wouldSend: [expect.any(String), expect.any(String), expect.stringMatching(on)],
    });
    expect(lab.writes()).toEqual([]);
  });

  it("SIGTERM in the middle of a wait ends the list and its session, and the result says how far it was", async () => {
    await using lab = await actionLab({ machine: { power: "on", softOffMs: "never" } });
    const action = new ActionRun("run-tasks", {
      env: {
        ...lab.env(provider),
        REDFISH_AUTH: "session",
        SOFT_TIMEOUT: "5m",
        TASKS: json(
          { bootDevice: { device: "pxe", efiBoot: true } },
          { powerAction: "soft" },
          { powerAction: "on" },
        ),
      },
    });
    await eventually(() => lab.done().length === 1);
    expect(openSessions(lab)).toBe(1);

    action.kill("SIGTERM");
    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "cancelled",
      message: "cancelled by SIGTERM: task 2 of 3 (soft) under way; task 1 done: boot pxe once (uefi)",
      changed: true,
      data: { tasks: [{ task: "boot pxe once (uefi)" }] },
    });
    expect(ended).toMatchObject({ code: 143 });
    await eventually(() => openSessions(lab) === 0);
    expect(lab.done()).toEqual(["soft-off"]);
  });

  it("a reached TIMEOUT says which task was under way", async () => {
    await using lab = await actionLab({ machine: { power: "on", softOffMs: "never" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env(provider), TASKS: json({ powerAction: "soft" }), TIMEOUT: "1500ms" },
    });

    expect(resultOf(ended)).toMatchObject({
      class: "timeout",
      message: "not finished within 1.5 s (TIMEOUT): task 1 of 1 (soft) under way",
    });
    expect(resultOf(ended).changed).toBe(true);
    expect(ended.code).toBe(16);
  });
});

describe.concurrent("virtual media", () => {
  it("are inserted and ejected in turn", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    const media = (mediaURL?: string) => ({ virtualMediaAction: { mediaURL, kind: "CD" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env("redfish"), TASKS: json(media(ISO), media(""), media(ISO), media()) },
    });

    expect(resultOf(ended)).toMatchObject({
      ok: true,
      message: `4 tasks done: media ${ISO} inserted; media ejected; media ${ISO} inserted; media ejected via redfish`,
    });
    expect(lab.redfish.media.slots.some(({ inserted }) => inserted)).toBe(false);
  });

  it("are planned as the tasks before leave the drive", async () => {
    await using lab = await actionLab();
    const tasks = json(
      { virtualMediaAction: { mediaURL: ISO, kind: "CD" } },
      { virtualMediaAction: { kind: "CD" } },
    );

    const ended = await runAction("run-tasks", {
      env: { ...lab.env("redfish"), TASKS: tasks, DRY_RUN: "true" },
    });

    expect(resultOf(ended).data).toEqual({
      wouldSend: [expect.stringContaining("InsertMedia"), expect.stringContaining("EjectMedia")],
    });
    expect(lab.writes()).toEqual([]);
  });
});

describe.concurrent("what cannot be done", () => {
  const rescue = json({ powerAction: "off" }, { virtualMediaAction: { mediaURL: ISO, kind: "CD" } });
  const limited = (resetTypes: readonly string[]) => {
    const generic = redfishProfile("generic");
    return { redfish: { profile: { ...generic, resetTypes } } };
  };

  it("by any of the providers is refused before the first packet", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env("ipmi"), BMC_PROVIDERS: "ipmi,ipmitool,amt", TASKS: rescue },
    });

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "unsupported",
      message: `task 2 of 2 (insert ${ISO}): ipmi, ipmitool, amt have no virtual media; nothing was changed`,
    });
    expect(ended.code).toBe(13);
    expect(lab.traffic()).toBe(0);
  });

  it.each([
    ["a drive", { redfish: { profile: "bare" } }, rescue, /^task 2 of 2 \(insert .*no virtual drive/],
    [
      "a boot device",
      {},
      json({ powerAction: "off" }, { bootDevice: { device: "safe" } }, { powerAction: "on" }),
      /^task 2 of 3 \(boot safe once\): redfish: the BMC does not boot from safe/,
    ],
    [
      "a power command",
      limited(["ForceOff", "On"]),
      json({ powerAction: "off" }, { powerAction: "on" }, { powerAction: "reset" }),
      /^task 3 of 3 \(reset\): redfish: the BMC offers no reset type for reset/,
    ],
    [
      "a way on again",
      limited(["ForceOff"]),
      json({ powerAction: "off" }, { powerAction: "on" }),
      /^task 2 of 2 \(on\): redfish: the BMC offers no reset type for on/,
    ],
  ])("because the BMC lacks %s is refused before anything is changed", async (_, options, tasks, message) => {
    await using lab = await actionLab({ machine: { power: "on" }, ...options });

    const ended = await runAction("run-tasks", { env: { ...lab.env("redfish"), TASKS: tasks } });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unsupported" });
    expect(resultOf(ended).message).toMatch(message);
    expect(resultOf(ended).message).toMatch(/; nothing was changed$/);
    expect(ended.code).toBe(13);
    expect(lab.writes()).toEqual([]);
    expect(lab.machine.power).toBe("on");
  });

  it("because only the provider with virtual media is away is noticed before anything is changed", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const ended = await runAction("run-tasks", {
      env: { ...lab.env("redfish", "ipmi"), REDFISH_PORT: String(REFUSING_PORT), TASKS: rescue },
    });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "unreachable" });
    expect(resultOf(ended).message).toMatch(
      /^task 2 of 2 \(insert .*connection refused.*; nothing was changed$/,
    );
    expect(lab.writes()).toEqual([]);
    expect(lab.machine.power).toBe("on");
  });

  it("does not include what another provider does instead", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    const tasks = json({ powerAction: "off" }, { bootDevice: { device: "safe" } });

    const ended = await runAction("run-tasks", { env: { ...lab.env("redfish", "ipmi"), TASKS: tasks } });

    expect(resultOf(ended)).toMatchObject({ ok: true, provider: "ipmi" });
    expect(lab.machine.override).toMatchObject({ device: "safe", enabled: "once" });
  });
});

describe.concurrent("the list", () => {
  const readsOnly = "- powerAction: status";

  it.each([
    ["a file", "tasks.yaml", undefined],
    ["stdin", "-", `tasks:\n  ${readsOnly}\n`],
  ])("comes from %s", async (_, name, stdin) => {
    await using lab = await actionLab({ machine: { power: "on" } });
    const path = name === "-" ? name : join(lab.folder, name);
    if (name !== "-") await writeFile(path, readsOnly);

    const ended = await runAction("run-tasks", {
      env: lab.env("redfish"),
      argv: ["--tasks-file", path],
      ...(stdin === undefined ? {} : { stdin }),
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, message: "on via redfish" });
  });

  it("comes from a file while the connection is on stdin, as under a worker", async () => {
    await using lab = await actionLab({ machine: { power: "on" } });
    const path = join(lab.folder, "tasks.json");
    await writeFile(path, json({ powerAction: "status" }));

    const ended = await runAction("run-tasks", {
      env: { BMC_CONNECTION_FILE: "-", TASKS_FILE: path },
      stdin: JSON.stringify(lab.connection("ipmi")),
    });

    expect(resultOf(ended)).toMatchObject({ ok: true, message: "on via ipmi" });
  });

  it.each([
    [{ TASKS_FILE: "-" }, [], "TASKS_FILE:1: task 1 does nothing"],
    [{}, ["--tasks-file", "-"], "--tasks-file:1: task 1 does nothing"],
  ])("names the file with a mistake as it was given (%j, %j)", async (env, argv, problem) => {
    await using lab = await actionLab();

    const ended = await runAction("run-tasks", {
      env: { ...lab.env("redfish"), ...env },
      argv,
      stdin: "- {}",
    });

    expect(resultOf(ended).message).toContain(problem);
  });

  it.each([
    ["not at all", {}, ["TASKS or TASKS_FILE is missing: the tasks"]],
    ["twice", { TASKS: readsOnly, TASKS_FILE: "-" }, ["TASKS and TASKS_FILE are both set: set only one"]],
    [
      "with mistakes",
      { TASKS: "- powerAction: onn\n- powerAktion: off\n- {}\n" },
      [
        "TASKS:1: task 1: powerAction must be one of on, off, soft, soft-then-hard, cycle, reset, status, did you mean on?",
        "TASKS:2: task 2: powerAktion is not known, did you mean powerAction?",
        "TASKS:3: task 3 does nothing: name one of powerAction, bootDevice, oneTimeBootDeviceAction, virtualMediaAction",
      ],
    ],
  ])("given %s is refused with all its problems, and nothing is sent", async (_, env, problems) => {
    await using lab = await actionLab();

    const ended = await runAction("run-tasks", { env: { ...lab.env("redfish"), ...env }, stdin: readsOnly });

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "usage", message: problems.join("; ") });
    for (const problem of problems) expect(ended.stderr).toContain(`  - ${problem}\n`);
    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });
});
