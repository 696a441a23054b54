import { describe, expect, it } from "vitest";
import { simulatedDrive } from "../../simulators/redfish/storage.ts";
import { resultOf, runAction } from "./action-run.ts";
import { actionLab } from "./lab.ts";

type Lab = Awaited<ReturnType<typeof actionLab>>;
type Env = Readonly<Record<string, string>>;

const setRaid = (lab: Lab, RAID_VOLUMES: string, env: Env = {}) =>
  runAction("set-raid", { env: { ...lab.env("redfish"), RAID_VOLUMES, ...env } });
const clearRaid = (lab: Lab, VOLUMES: string, env: Env = {}) =>
  runAction("clear-raid", { env: { ...lab.env("redfish"), VOLUMES, ...env } });

const OS = { name: "os", level: "RAID1", drives: ["0", "1"], bytes: 960_197_124_096 };
const DATA = { name: "data", level: "RAID5", drives: ["2", "3", "4"], bytes: 1e12 };
const sent = ({ redfish }: Lab) => redfish.log.filter((line) => /^(POST|DELETE) .*\/Volumes/.test(line));

/** Drives 2 to 4 are larger hard disks. */
function addDisks({ redfish: { storage } }: Lab) {
  for (const id of ["2", "3", "4"]) storage.drives.set(id, simulatedDrive({ media: "HDD", bytes: 2e12 }));
}

describe.concurrent("set-raid", () => {
  it("creates volumes, follows the tasks, and sends nothing a second time", async () => {
    await using lab = await actionLab();
    addDisks(lab);
    lab.redfish.storage.taskMs = 100;
    const asked = "os RAID1 drives=2 media=SSD; data raid5 drives=4,2,3 size=1TB";

    const first = await setRaid(lab, asked);
    const again = await setRaid(lab, asked);

    expect(resultOf(first)).toMatchObject({
      message: "created: os (RAID1), data (RAID5) via redfish",
      before: [],
      after: [OS, { name: "data", level: "RAID5", bytes: 1e12 }],
      changed: true,
      data: { pending: false },
    });
    expect(resultOf(again)).toMatchObject({ changed: false });
    expect(sent(lab)).toHaveLength(2);
    expect([...lab.redfish.storage.volumes.values()]).toMatchObject([OS, { drives: ["4", "2", "3"] }]);
  });

  it("chooses the smallest free drives that give the size", async () => {
    await using lab = await actionLab();
    addDisks(lab);
    lab.redfish.storage.drives.set("5", simulatedDrive({ media: "HDD", bytes: 1e12 }));

    const ended = await setRaid(lab, "small RAID0 drives=1 media=HDD; big RAID1 drives=2 size=1.5TB");

    expect(resultOf(ended)).toMatchObject({
      after: [
        { name: "small", drives: ["5"] },
        { name: "big", drives: ["2", "3"] },
      ],
    });
  });

  it("reports a volume that waits for the next boot as pending, and does not send it again", async () => {
    await using lab = await actionLab();

    const first = await setRaid(lab, "os RAID1 drives=2", { APPLY_TIME: "on-reset" });
    const waiting = await setRaid(lab, "os RAID1 drives=2", { APPLY_TIME: "on-reset" });
    lab.machine.do("reset");
    const booted = await setRaid(lab, "os RAID1 drives=2", { APPLY_TIME: "on-reset" });

    expect(resultOf(first)).toMatchObject({
      message: "accepted: os (RAID1) created at the next boot via redfish",
      after: [],
      data: { pending: true },
    });
    expect(resultOf(waiting)).toMatchObject({ ok: false, class: "state" });
    expect(resultOf(waiting).message).toContain("waits for the next boot");
    expect(resultOf(booted)).toMatchObject({ ok: true, changed: false });
    expect(sent(lab)).toHaveLength(1);
  });

  it.each([
    ["os RAID5 drives=0,1,9", "there is no drive 9"],
    ["x RAID1 drives=1,2", "drive 1 is in use by a volume"],
    ["x RAID1 drives=3,4", "drive 3 has the state Foreign, drive 4 is a hot spare"],
    ["x RAID0 drives=5,2", "drive 5 has the state StandbyOffline"],
    ["x RAID1 drives=6,2 media=SSD", "drive 6 is HDD, drive 2 is HDD"],
    ["x RAID6 drives=4", "the controller does not support RAID6, only RAID0, RAID1, RAID5"],
    ["x RAID0 drives=6 size=3TB", "needs 6 free drives of one type, has 2"],
    [
      "x RAID0 drives=2,6 size=9TB",
      "9000000000000 bytes are more than the 4000000000000 that its drives give",
    ],
    ["old RAID5 drives=3", "old: it exists as RAID1, it exists with 2 drives, clear it first"],
    ["x RAID0 drives=2,6; y RAID0 drives=2,6", "y: drive 2 is for another volume of this request"],
  ])("refuses %s before anything is sent", async (asked, problem) => {
    await using lab = await actionLab();
    const { storage } = lab.redfish;
    addDisks(lab);
    storage.levels = ["RAID0", "RAID1", "RAID5"];
    storage.add({ ...OS, name: "old" });
    storage.drives.set("3", simulatedDrive({ raidStatus: "Foreign" }));
    storage.drives.set("4", simulatedDrive({ hotspare: "Global" }));
    storage.drives.set("5", simulatedDrive({ state: "StandbyOffline" }));
    storage.drives.set("6", simulatedDrive({ media: "HDD", bytes: 2e12 }));

    const ended = await setRaid(lab, asked);

    expect(resultOf(ended).message).toContain(problem);
    expect(resultOf(ended)).toMatchObject({ ok: false, class: "state" });
    expect(sent(lab)).toEqual([]);
  });

  it("lists all problems of the input", async () => {
    await using lab = await actionLab();

    const ended = await setRaid(
      lab,
      "os RAID1 drives=3; x RAID7 drives=2 size=2; os RAID0 drives=1 media=tape",
    );

    const { message } = resultOf(ended);
    expect(ended.code).toBe(2);
    expect(message).toContain("os: RAID1 has 2 drives, not 3");
    expect(message).toContain("x: the level is one of RAID0, RAID1, RAID5, RAID6, RAID10, size=");
    expect(message).toContain("media= is SSD or HDD");
    expect(lab.traffic()).toBe(0);
  });

  it("reads the volumes after a lost answer and sends nothing twice", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "close-after", method: "POST", path: /Volumes$/ });

    const ended = await setRaid(lab, "os RAID1 drives=2");

    expect(resultOf(ended)).toMatchObject({ ok: true, changed: true });
    expect(sent(lab)).toHaveLength(1);
  });

  it("says that a volume may have been created if its request was lost", async () => {
    await using lab = await actionLab();
    lab.redfish.fail({ kind: "close-before", method: "POST", path: /Volumes$/ });

    const ended = await setRaid(lab, "os RAID1 drives=2", { VERIFY_TIMEOUT: "1s" });

    expect(resultOf(ended)).toMatchObject({ ok: false, changed: true });
    expect(resultOf(ended).message).toContain("may have been started and is not sent again");
    expect(sent(lab)).toHaveLength(1);
  });

  it("waits for a BMC that restarts during the task", async () => {
    await using lab = await actionLab();
    lab.redfish.storage.restartMs = 300;

    const ended = await setRaid(lab, "os RAID1 drives=2");

    expect(resultOf(ended)).toMatchObject({ ok: true, after: [OS] });
    expect(sent(lab)).toHaveLength(1);
  });

  it("fails with the reason of a failed task", async () => {
    await using lab = await actionLab();
    lab.redfish.storage.failure = "The controller is busy.";

    const ended = await setRaid(lab, "os RAID1 drives=2");

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "bmc", changed: true });
    expect(resultOf(ended).message).toContain("The controller is busy.");
  });

  it("fails if a drive vanishes during the task, or the volume has another level", async ({ expect }) => {
    await using lab = await actionLab();
    // Long enough to pull the drive also on a busy machine.
    lab.redfish.storage.taskMs = 3_000;
    const running = setRaid(lab, "os RAID1 drives=2", { VERIFY_TIMEOUT: "1s" });
    await expect.poll(() => sent(lab).length, { timeout: 20_000 }).toBe(1);
    lab.redfish.storage.drives.delete("1");
    const vanished = await running;
    lab.redfish.storage.drives.set("1", simulatedDrive());
    lab.redfish.storage.makes = "RAID0";
    const other = await setRaid(lab, "os RAID1 drives=2", { VERIFY_TIMEOUT: "1s" });

    expect(resultOf(vanished)).toMatchObject({ ok: false, class: "verify" });
    expect(resultOf(other)).toMatchObject({ ok: false, class: "verify" });
    expect(resultOf(other).message).toContain("the BMC has 1 volume (os RAID0)");
  });
});

describe.concurrent("clear-raid", () => {
  it("deletes the named volume only, by name or ID, and sends nothing a second time", async () => {
    await using lab = await actionLab();
    addDisks(lab);
    lab.redfish.storage.add(OS);
    const id = lab.redfish.storage.add(DATA);

    const first = await clearRaid(lab, id);
    const again = await clearRaid(lab, "data");

    expect(resultOf(first)).toMatchObject({ ok: true, after: [OS], changed: true });
    expect(resultOf(again)).toMatchObject({ message: "already absent: data via redfish", changed: false });
    expect([...lab.redfish.storage.volumes.values()]).toEqual([OS]);
    expect(sent(lab)).toHaveLength(1);
  });

  it.each(["*", "o*", ","])("does not take %s for a name", async (names) => {
    await using lab = await actionLab();

    const ended = await clearRaid(lab, names);

    expect(ended.code).toBe(2);
    expect(lab.traffic()).toBe(0);
  });

  it("refuses a name that matches several volumes", async () => {
    await using lab = await actionLab();
    lab.redfish.storage.add({ ...OS, name: "2" });
    addDisks(lab);
    lab.redfish.storage.add(DATA);

    const ended = await clearRaid(lab, "2");

    expect(resultOf(ended)).toMatchObject({ ok: false, class: "usage" });
    expect(resultOf(ended).message).toContain(
      "2 matches several volumes: 2 (ID 1 of RAID.1), data (ID 2 of RAID.1)",
    );
    expect(sent(lab)).toEqual([]);
  });
});
