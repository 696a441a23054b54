import { describe, expect, it } from "vitest";
import {
  collection,
  refusal,
  SYSTEM,
  type TreeAnswer,
  treeLab,
  treeOf,
} from "../../../../support/redfish-tree.ts";

const signal = new AbortController().signal;
const MONITOR = "/redfish/v1/TaskService/TaskMonitors/7";
const TASKS = "/redfish/v1/TaskService/Tasks";
const TASK = `${TASKS}/9`;
const JOB = "/redfish/v1/Managers/1/Jobs/JID_7";

/** What each look at a path is answered; the last answer is for all further looks. */
type Looks = Readonly<Record<string, readonly TreeAnswer[]>>;

const ACCEPTED: TreeAnswer = [202, undefined, { location: MONITOR }];
const task = (TaskState: string, more: object = {}): TreeAnswer => [
  200,
  { "@odata.id": TASK, TaskState, ...more },
];
const job = (JobState: string, more: object = {}): TreeAnswer => [
  200,
  { "@odata.id": JOB, JobState, ...more },
];
const running: TreeAnswer = [202, { TaskState: "Running" }];
const said = (MessageId: string, Message: string, more: object = {}) => ({
  Messages: [{ MessageId, Message, ...more }],
});

function machine(system: Readonly<Record<string, unknown>> = {}) {
  const tree = treeOf(system);
  const action = Object(tree[SYSTEM]?.["Actions"])["#ComputerSystem.Reset"];
  action["ResetType@Redfish.AllowableValues"].push("Nmi");
  return tree;
}

/** A machine whose writes are answered so, and what they start is shown so. */
async function workLab(started: TreeAnswer, looks: Looks, tree = machine()) {
  const counts = new Map<string, number>();
  return treeLab(tree, ({ method, path }) => {
    if (method !== "GET") return started;
    const answers = looks[path];
    const index = counts.get(path) ?? 0;
    counts.set(path, index + 1);
    return answers?.[Math.min(index, answers.length - 1)];
  });
}

/** Nothing but its task shows what became of an NMI. */
describe("an NMI is as good as what it started", () => {
  it.each<[string, TreeAnswer, Looks]>([
    ["a task that ends", ACCEPTED, { [MONITOR]: [running, task("Completed")] }],
    ["RW091: a task that has ended, with 202", ACCEPTED, { [MONITOR]: [[202, { TaskState: "Completed" }]] }],
    ["RW092: a task that is new at first", ACCEPTED, { [MONITOR]: [task("New"), task("Completed")] }],
    ["RW094: a task that only the body names", [202, { "@odata.id": TASK }], { [TASK]: [task("Completed")] }],
    ["a monitor that ends with 204", ACCEPTED, { [MONITOR]: [running, [204]] }],
    [
      "122: a monitor that leads to the system",
      ACCEPTED,
      { [MONITOR]: [running, [303, undefined, { location: SYSTEM }]] },
    ],
    [
      "a monitor that ends with a message of success",
      ACCEPTED,
      { [MONITOR]: [running, [200, { "@Message.ExtendedInfo": [{ MessageId: "Base.1.8.Success" }] }]] },
    ],
    ["RW085: a job", [202, undefined, { location: JOB }], { [JOB]: [job("Running"), job("Completed")] }],
    [
      "RW086: a task that passes its work on to a job",
      ACCEPTED,
      {
        [MONITOR]: [
          task("Completed", said("Base.1.8.OperationTransitionedToJob", "Job.", { MessageArgs: [JOB] })),
        ],
        [JOB]: [job("Running"), job("Completed")],
      },
    ],
    [
      "RW087: a job that is made a moment later",
      [202, undefined, { location: JOB }],
      { [JOB]: [[404], job("Completed")] },
    ],
    ...[500, 502, 503, 504, 429].map((status): [string, TreeAnswer, Looks] => [
      `a task whose monitor answers ${status} for a while`,
      ACCEPTED,
      { [MONITOR]: [[status], [status], running, [status], task("Completed")] },
    ]),
    [
      "RW093: a task that ends after its monitor is gone",
      ACCEPTED,
      {
        [MONITOR]: [[202, { "@odata.id": TASK, TaskState: "Running" }], [404]],
        [TASK]: [task("Running"), task("Completed")],
      },
    ],
  ])("%s", async (_, started, looks) => {
    await using lab = await workLab(started, looks);

    await lab.client.sendNmi(signal);

    expect(lab.writes()).toHaveLength(1);
  });

  const DENIED = said("Base.1.8.OperationFailed", "The host did not take it.", {
    MessageSeverity: "Warning",
  });
  const CRITICAL = said("Contoso.1.0.HostBusy", "The host did not take it.", { MessageSeverity: "Critical" });
  const REASON = said("Contoso.1.0.HostBusy", "The host did not take it.");
  const WORDS = "The host did not take it.";

  it.each<[string, TreeAnswer, Looks, string, string]>([
    ["is accepted with 202 and nothing to follow", [202], {}, "verify", "without a task"],
    [
      "shows a word that is not known",
      ACCEPTED,
      { [MONITOR]: [running, task("Strange")] },
      "verify",
      "Strange",
    ],
    [
      "shows a task without a state",
      ACCEPTED,
      { [MONITOR]: [running, [200, { "@odata.type": "#Task.v1_4_0.Task", Id: "7", Name: "Task" }]] },
      "verify",
      "unknown",
    ],
    ["shows {}", ACCEPTED, { [MONITOR]: [running, [200, {}]] }, "verify", "unknown"],
    ["shows nothing with 200", ACCEPTED, { [MONITOR]: [running, [200]] }, "verify", "unknown"],
    [
      "shows an error with 200",
      ACCEPTED,
      { [MONITOR]: [running, [200, refusal("Contoso.1.0.HostBusy", WORDS)]] },
      "verify",
      WORDS,
    ],
    [
      "shows an error without messages with 200",
      ACCEPTED,
      { [MONITOR]: [[200, { error: { code: "x", message: WORDS } }]] },
      "verify",
      WORDS,
    ],
    [
      "has completed beside a critical message",
      ACCEPTED,
      { [MONITOR]: [task("Completed", CRITICAL)] },
      "verify",
      WORDS,
    ],
    [
      "has completed beside a warning that denies it",
      ACCEPTED,
      { [MONITOR]: [task("Completed", DENIED)] },
      "verify",
      WORDS,
    ],
    [
      "has completed with the status Critical",
      ACCEPTED,
      { [MONITOR]: [task("Completed", { TaskStatus: "Critical", ...REASON })] },
      "bmc",
      WORDS,
    ],
    [
      "says its reason as MessageID",
      ACCEPTED,
      { [MONITOR]: [task("Exception", { Messages: [{ MessageID: "Contoso.1.0.HostBusy" }] })] },
      "bmc",
      "Contoso.1.0.HostBusy",
    ],
    ["waits for the next boot", ACCEPTED, { [MONITOR]: [task("Pending")] }, "verify", "next boot"],
    ["never ends", ACCEPTED, { [MONITOR]: [running] }, "verify", "has not ended"],
    ["was never there", ACCEPTED, {}, "verify", "no longer knows"],
    ["is gone after it ran", ACCEPTED, { [MONITOR]: [running, [404]] }, "verify", "no longer knows"],
    [
      "RW093: is gone after it ran, and its task has failed",
      ACCEPTED,
      {
        [MONITOR]: [[202, { "@odata.id": TASK, TaskState: "Running" }], [410]],
        [TASK]: [task("Exception", REASON)],
      },
      "bmc",
      WORDS,
    ],
    [
      "RW093: is gone after it ran, and the list shows it as failed",
      ACCEPTED,
      {
        [MONITOR]: [running, [400, refusal("Base.1.8.ResourceMissingAtURI", "Gone.")]],
        [TASKS]: [[200, collection(`${TASKS}/8`, TASK)]],
        [`${TASKS}/8`]: [
          [200, { TaskState: "Completed", TaskMonitor: "/redfish/v1/TaskService/TaskMonitors/6" }],
        ],
        [TASK]: [task("Exception", { TaskMonitor: MONITOR, ...REASON })],
      },
      "bmc",
      WORDS,
    ],
    [
      "is gone after it ran, and the list has another request's task with its number",
      ACCEPTED,
      {
        [MONITOR]: [running, [404]],
        [TASKS]: [[200, collection(`${TASKS}/7`)]],
        [`${TASKS}/7`]: [
          [200, { Id: "7", TaskState: "Completed", Payload: { TargetUri: "/redfish/v1/Systems/2" } }],
        ],
      },
      "verify",
      "no longer knows",
    ],
    [
      "RW085, w28: is a job that failed",
      [202, undefined, { location: JOB }],
      {
        [JOB]: [job("Running"), job("Failed", { Message: WORDS, MessageId: "RED007" })],
      },
      "bmc",
      `${WORDS} (RED007)`,
    ],
    [
      "RW086: was passed on to a job that failed",
      ACCEPTED,
      {
        [MONITOR]: [
          task("Completed", said("Base.1.8.OperationTransitionedToJob", "Job.", { MessageArgs: [JOB] })),
        ],
        [JOB]: [job("Failed", { Message: WORDS })],
      },
      "bmc",
      WORDS,
    ],
    ...[400, 403, 409, 412].map((status): [string, TreeAnswer, Looks, string, string] => [
      `122: has the result ${status}`,
      ACCEPTED,
      { [MONITOR]: [running, [status, refusal("Contoso.1.0.HostBusy", WORDS)]] },
      "bmc",
      WORDS,
    ]),
    ...["Exception", "Killed", "Cancelled", "Interrupted"].map(
      (state): [string, TreeAnswer, Looks, string, string] => [
        `ends as ${state}`,
        ACCEPTED,
        { [MONITOR]: [running, task(state, REASON)] },
        "bmc",
        `${state}: ${WORDS}`,
      ],
    ),
    ...["Failed", "CompletedWithErrors", "Completed with Errors", "RebootFailed", "Reboot Failed"].map(
      (state): [string, TreeAnswer, Looks, string, string] => [
        `RW085: is a job that ends as ${state}`,
        [202, undefined, { location: JOB }],
        { [JOB]: [job(state, { Message: WORDS })] },
        "bmc",
        WORDS,
      ],
    ),
    ...["Scheduled", "Ready For Execution", "RebootPending"].map(
      (state): [string, TreeAnswer, Looks, string, string] => [
        `RW085: is a job in the state ${state}`,
        [202, undefined, { location: JOB }],
        { [JOB]: [job(state)] },
        "verify",
        "next boot",
      ],
    ),
  ])("and fails, sent once, if it %s", async (_, started, looks, errorClass, words) => {
    await using lab = await workLab(started, looks);

    await expect(lab.client.sendNmi(signal)).rejects.toMatchObject({
      class: errorClass,
      message: expect.stringContaining(words),
    });
    expect(lab.writes()).toHaveLength(1);
  });
});

describe("a power command ends within its own limit", () => {
  const looks = (lab: Awaited<ReturnType<typeof workLab>>) =>
    lab.requests.filter(({ path }) => path === MONITOR);

  it.each<[string, Looks, string, string]>([
    ["never ends", { [MONITOR]: [running] }, "timeout", "did not end within 15.0 s"],
    ["was never there", {}, "verify", "no longer knows"],
    [
      "has failed",
      { [MONITOR]: [running, task("Exception", said("Contoso.1.0.No", "No."))] },
      "bmc",
      "No. (Contoso.1.0.No)",
    ],
    ["says nothing that is known", { [MONITOR]: [running, task("Strange")] }, "verify", "Strange"],
    ["has the result 409", { [MONITOR]: [running, [409, refusal("Contoso.1.0.No", "No.")]] }, "bmc", "No."],
  ])("a reset, and is no success if its task %s", async (_, shown, errorClass, words) => {
    await using lab = await workLab(ACCEPTED, shown);

    const reset = lab.client.setPower({ verb: "reset", onIfOff: false, timeoutMs: 15_000 }, signal);

    await expect(reset).rejects.toMatchObject({ class: errorClass, message: expect.stringContaining(words) });
    expect(lab.writes()).toHaveLength(1);
    expect(looks(lab).length).toBeLessThan(40);
  });

  const OFF = { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 15_000 } as const;

  it("power-off, with the words of the task that goes on", async () => {
    await using lab = await workLab(ACCEPTED, { [MONITOR]: [task("Running", { PercentComplete: 40 })] });

    const off = lab.client.setPower(OFF, signal);

    await expect(off).rejects.toMatchObject({
      class: "timeout",
      message: expect.stringContaining(
        `not off after 15.0 s, although the BMC accepted "off" (${MONITOR}: Running, 40 %)`,
      ),
    });
    expect(lab.writes()).toHaveLength(1);
    expect(looks(lab).length).toBeLessThan(40);
  });

  it("power-off, at once if the machine is off while its task goes on", async () => {
    const tree = machine();
    await using lab = await workLab(ACCEPTED, { [MONITOR]: [running] }, tree);
    const off = lab.client.setPower(OFF, signal);
    await expect.poll(() => looks(lab).length).toBeGreaterThan(1);

    Object(tree[SYSTEM]).PowerState = "Off";

    expect(await off).toMatchObject({ after: "off", changed: true });
  });

  it("a graceful shutdown, which may come about although its task has failed: nothing is forced", async () => {
    const tree = machine();
    const failed = task("Exception", said("Contoso.1.0.No", "No agent."));
    await using lab = await workLab(ACCEPTED, { [MONITOR]: [failed] }, tree);
    const off = { ...OFF, mode: "soft-then-hard", softTimeoutMs: 60_000 } as const;

    const done = lab.client.setPower(off, signal);
    await expect.poll(() => looks(lab).length).toBeGreaterThan(0);
    Object(tree[SYSTEM]).PowerState = "Off";

    expect((await done).summary).toMatch(/\(graceful\)$/);
    expect(lab.writes()).toHaveLength(1);
  });

  it("a graceful shutdown, whose task says why it did not happen", async () => {
    await using lab = await workLab(ACCEPTED, {
      [MONITOR]: [task("Exception", said("Contoso.1.0.No", "No agent."))],
    });

    const soft = lab.client.setPower({ ...OFF, mode: "soft", softTimeoutMs: 15_000 }, signal);

    await expect(soft).rejects.toMatchObject({ class: "bmc", message: expect.stringContaining("No agent.") });
    expect(lab.writes()).toHaveLength(1);
  });
});

describe("a drive is erased if what does it says so", () => {
  const DRIVE = `${SYSTEM}/Storage/1/Drives/1`;
  const storage = () => ({
    ...machine({ PowerState: "Off", Storage: { "@odata.id": `${SYSTEM}/Storage` } }),
    [`${SYSTEM}/Storage`]: collection(`${SYSTEM}/Storage/1`),
    [`${SYSTEM}/Storage/1`]: {
      "@odata.id": `${SYSTEM}/Storage/1`,
      Id: "1",
      Drives: [{ "@odata.id": DRIVE }],
    },
    [DRIVE]: { "@odata.id": DRIVE, Id: "1", SerialNumber: "D1", Actions: { "#Drive.SecureErase": {} } },
  });
  const started: TreeAnswer = [202, undefined, { location: JOB }];
  const erase = (looks: TreeAnswer[]) => workLab(started, { [JOB]: looks }, storage());

  it.each(["Completed", "completed"])("%s", async (word) => {
    await using lab = await erase([job("Downloaded"), job("Scheduled"), job("Running"), job(word)]);

    expect(await lab.client.eraseDrives({ drives: ["D1"] }, 600_000, signal)).toMatchObject({
      changed: true,
    });
  });

  it.each<[string, TreeAnswer, string, string]>([
    ["RW085: Scheduled", job("Scheduled"), "verify", "next boot"],
    ["RW085: Running", job("Running", { Message: "Erasing." }), "timeout", "Erasing."],
    ["RW085: Failed", job("Failed", { Message: "Drive is locked." }), "bmc", "Drive is locked."],
    ["a Redfish Job in Exception", job("Exception", said("Contoso.1.0.No", "No.")), "bmc", "No."],
    ["a job with the status Critical", job("Completed", { JobStatus: "Critical" }), "bmc", "Completed"],
    ["UserIntervention", job("UserIntervention"), "verify", "UserIntervention"],
    ["an unknown word", job("Strange"), "verify", "Strange"],
    ["{}", [200, {}], "verify", "unknown"],
    ["an error", [200, refusal("Contoso.1.0.No", "No.")], "verify", "No."],
  ])("and not if it says %s", async (_, look, errorClass, words) => {
    await using lab = await erase([job("Running"), look]);

    await expect(lab.client.eraseDrives({ drives: ["D1"] }, 20_000, signal)).rejects.toMatchObject({
      class: errorClass,
      message: expect.stringContaining(words),
    });
    expect(lab.writes()).toHaveLength(1);
  });
});

describe("HPE's state of an update is the reason where its task says nothing", () => {
  const SERVICE = "/redfish/v1/UpdateService";
  const BIOS = `${SERVICE}/FirmwareInventory/1`;
  const limits = { updateMs: 120_000, verifyMs: 20_000 };
  const request = {
    image: { uri: "http://192.0.2.9/a.bin" },
    targets: ["1"],
    version: "2.0",
    allowDowngrade: false,
  };
  const RESULT = { MessageId: "iLO.2.14.ImageNotSigned", MessageArgs: ["a.bin"] };
  const service = (Hpe: object): TreeAnswer => [
    200,
    {
      FirmwareInventory: { "@odata.id": `${SERVICE}/FirmwareInventory` },
      Actions: { "#UpdateService.SimpleUpdate": { target: `${SERVICE}/Actions/UpdateService.SimpleUpdate` } },
      Oem: { Hpe },
    },
  ];
  const tree = () => ({
    ...machine(),
    [`${SERVICE}/FirmwareInventory`]: collection(BIOS),
    [BIOS]: { "@odata.id": BIOS, Id: "1", Name: "System ROM", Version: "1.0", Updateable: true },
  });
  const IDLE = service({ State: "Idle" });
  const ERROR = service({ State: "Error", Result: RESULT });

  it.each<[string, TreeAnswer, Looks]>([
    ["without a task", [200, {}], { [SERVICE]: [IDLE, IDLE, IDLE, service({ State: "Verifying" }), ERROR] }],
    ["beside a task that goes on", ACCEPTED, { [MONITOR]: [running], [SERVICE]: [IDLE, IDLE, IDLE, ERROR] }],
    [
      "beside a task that is gone",
      ACCEPTED,
      { [MONITOR]: [running, [404]], [SERVICE]: [IDLE, IDLE, IDLE, ERROR] },
    ],
  ])("%s", async (_, started, looks) => {
    await using lab = await workLab(started, looks, tree());

    await expect(lab.client.updateFirmware(request, limits, signal)).rejects.toMatchObject({
      class: "bmc",
      message: expect.stringContaining("the update failed: a.bin (iLO.2.14.ImageNotSigned)"),
    });
    expect(lab.writes()).toHaveLength(1);
  });

  it("but not what it says of an earlier update", async () => {
    await using lab = await workLab([200, {}], { [SERVICE]: [ERROR] }, tree());

    await expect(lab.client.updateFirmware(request, limits, signal)).rejects.toMatchObject({
      class: "verify",
      message: expect.stringContaining("the BMC has 1 1.0 instead of 2.0"),
    });
  });
});

describe("an image whose insertion does not end", () => {
  const CD = "/redfish/v1/Systems/1/VirtualMedia/CD";
  const drive = (more: object) => ({
    ...machine({ VirtualMedia: { "@odata.id": `${SYSTEM}/VirtualMedia` } }),
    [`${SYSTEM}/VirtualMedia`]: collection(CD),
    [CD]: {
      "@odata.id": CD,
      Id: "CD",
      MediaTypes: ["CD"],
      Inserted: false,
      Actions: { "#VirtualMedia.InsertMedia": { target: `${CD}/Actions/VirtualMedia.InsertMedia` } },
      ...more,
    },
  });

  it.each<[string, TreeAnswer]>([
    ["never", running],
    ["with a word that is not known", task("Strange")],
  ])("%s is not inserted again", async (_, look) => {
    await using lab = await workLab(ACCEPTED, { [MONITOR]: [look] }, drive({}));

    await expect(lab.client.insertMedia("http://192.0.2.9/a.iso", signal)).rejects.toMatchObject({
      class: "verify",
      message: expect.stringContaining("the BMC has no media"),
    });
    expect(lab.writes()).toHaveLength(1);
  });

  it("is inserted if the drive shows it", async () => {
    const image = "http://192.0.2.9/a.iso";
    const tree = drive({});
    await using lab = await treeLab(tree, ({ method, path }) => {
      if (path === MONITOR) return task("Strange");
      if (method === "GET") return undefined;
      Object.assign(Object(tree[CD]), { Inserted: true, Image: image });
      return ACCEPTED;
    });

    expect(await lab.client.insertMedia(image, signal)).toMatchObject({ changed: true });
  });
});

describe("a reset of the BMC", () => {
  const MANAGER = "/redfish/v1/Managers/1";

  it("has the reason of its task if the BMC does not go away", async () => {
    const tree = {
      ...machine({ Links: { ManagedBy: [{ "@odata.id": MANAGER }] } }),
      [MANAGER]: { "@odata.id": MANAGER, Id: "1", Actions: { "#Manager.Reset": {} } },
    };
    const failed = task("Exception", said("Contoso.1.0.No", "An update is going on."));
    await using lab = await workLab(ACCEPTED, { [MONITOR]: [running, failed] }, tree);

    await expect(lab.client.resetManager("cold", 60_000, signal)).rejects.toMatchObject({
      class: "bmc",
      message: expect.stringContaining("An update is going on."),
    });
    expect(lab.writes()).toHaveLength(1);
  });
});

describe("BIOS settings", () => {
  const BIOS = `${SYSTEM}/Bios`;
  const SETTINGS = `${BIOS}/Settings`;
  const request = { values: { Turbo: "On" }, applyTime: "on-reset" } as const;
  const FAILED = said("Contoso.1.0.No", "The profile is locked.");
  /** The settings take the values, whatever the task says. */
  const biosLab = (look: TreeAnswer) => {
    const tree: ReturnType<typeof treeOf> = {
      ...machine({ Bios: { "@odata.id": BIOS } }),
      [BIOS]: {
        "@odata.id": BIOS,
        Attributes: { Turbo: "Off" },
        "@Redfish.Settings": { SettingsObject: { "@odata.id": SETTINGS }, SupportedApplyTimes: ["OnReset"] },
        Actions: { "#Bios.ResetBios": {} },
      },
      [SETTINGS]: { "@odata.id": SETTINGS, Attributes: {} },
    };
    return treeLab(tree, ({ method, path, body }) => {
      if (path === MONITOR) return look;
      if (method === "GET") return undefined;
      if (method === "PATCH") Object.assign(Object(tree[SETTINGS]).Attributes, Object(body).Attributes);
      return ACCEPTED;
    });
  };

  it.each<[string, TreeAnswer]>([
    ["waits for the boot", task("Pending")],
    ["runs until the boot", running],
    ["says nothing that is known", [200, {}]],
  ])("are accepted if the BMC keeps them and their task %s", async (_, look) => {
    await using lab = await biosLab(look);

    expect(await lab.client.setBios(request, signal)).toMatchObject({ changed: true });
  });

  it.each<[string, TreeAnswer]>([
    ["task", task("Exception", FAILED)],
    ["RW085: job", [200, { JobState: "Failed", Message: "The profile is locked." }]],
    ["result", [400, refusal("Contoso.1.0.No", "The profile is locked.")]],
  ])("are not if their %s has failed", async (_, look) => {
    await using lab = await biosLab(look);

    await expect(lab.client.setBios(request, signal)).rejects.toMatchObject({
      class: "bmc",
      message: expect.stringContaining("The profile is locked."),
    });
    expect(lab.writes()).toHaveLength(1);
  });

  it.each<[string, TreeAnswer, string, string]>([
    ["has failed", task("Exception", FAILED), "bmc", "The profile is locked."],
    ["says {}", [200, {}], "verify", "how the reset of the BIOS ended is unknown"],
  ])("are not reset if the task %s", async (_, look, errorClass, words) => {
    await using lab = await biosLab(look);

    await expect(lab.client.resetBios(signal)).rejects.toMatchObject({
      class: errorClass,
      message: expect.stringContaining(words),
    });
  });
});
