import { randomUUID } from "node:crypto";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { actionKey } from "../../../../../worker/core/action/action.ts";
import type { JournalEntry } from "../../../../../worker/core/action/entry.ts";
import { encodeEntry } from "../../../../../worker/core/journal/entry-text.ts";
import type { TaskRecord } from "../../../../../worker/features/pbnj/service/task-record.ts";
import { taskAction } from "../../../../../worker/features/pbnj/service/tasks.ts";
import { failure, pbnjLab } from "./pbnj-lab.ts";

const MINUTE_MS = 60_000;
const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const image = { image: "pbnj-worker/{action}:v{version}", version: "1.0.0" };

/** A task that an earlier worker was killed with. */
function left(action: string, fields: Partial<TaskRecord> = {}): TaskRecord {
  return {
    version: 1,
    id: randomUUID(),
    description: "a task of an earlier worker",
    subject: "node-01",
    work: { action, environment: {}, timeoutMs: 600_000, result: "done" },
    hasSecrets: false,
    hasDirectAccess: false,
    acceptedAt: ago(1_000),
    messages: [],
    ...fields,
  };
}

function launched(record: TaskRecord): JournalEntry {
  const { workflowId, taskId, agentId, actionId, name, image: reference } = taskAction(record, image);
  const action = { workflowId, taskId, agentId, actionId, name, image: reference };
  return {
    key: actionKey(action),
    action,
    machine: "node-01",
    runtime: "in-process",
    connected: true,
    timeoutMs: 600_000,
    startedAt: ago(500),
    phase: "launched",
    handle: {},
  };
}

type Lab = Awaited<ReturnType<typeof pbnjLab>>;

async function leave({ stateDirectory }: Lab, record: TaskRecord, entry?: JournalEntry) {
  const [tasks, journal] = [join(stateDirectory, "pbnj-tasks"), join(stateDirectory, "journal")];
  for (const folder of [tasks, journal]) await mkdir(folder, { recursive: true });
  await writeFile(join(tasks, `${record.id}.json`), JSON.stringify(record));
  if (entry) await writeFile(join(journal, `${entry.key}.json`), encodeEntry(entry));
  return record.id;
}

describe.concurrent("after a restart, a task", () => {
  it("that had not begun is carried out", async () => {
    await using lab = await pbnjLab({ machine: { power: "off" } });
    const taskId = await leave(lab, left("power-on"));
    await using pbnj = await lab.start();

    expect(await pbnj.ended(Promise.resolve({ taskId }))).toMatchObject({ result: "done" });
    expect(lab.done()).toEqual(["on"]);
  });

  it("that was running has an unknown outcome, and is not repeated unless it is idempotent", async () => {
    await using lab = await pbnjLab();
    const [cycle, off] = [left("power-cycle"), left("power-off")];
    await leave(lab, cycle, launched(cycle));
    await leave(lab, off, launched(off));
    await using pbnj = await lab.start();

    expect(await failure(pbnj.ended(Promise.resolve({ taskId: cycle.id })))).toEqual({
      code: "Unknown",
      message: expect.stringContaining("it may have been carried out and is not idempotent"),
    });
    expect(await pbnj.ended(Promise.resolve({ taskId: off.id }))).toMatchObject({ result: "done" });
    expect(lab.done()).not.toContain("on");
  });

  it("whose secrets are gone is not carried out, and its outcome is unknown if it had begun", async () => {
    await using lab = await pbnjLab();
    const secret = { hasSecrets: true, hasDirectAccess: true, subject: "127.0.0.1" };
    const running = left("power-off", { ...secret, startedAt: ago(500) });
    const waiting = await leave(lab, left("power-off", secret));
    await leave(lab, running, launched(running));
    await using pbnj = await lab.start();

    expect(await failure(pbnj.ended(Promise.resolve({ taskId: waiting })))).toEqual({
      code: "Aborted",
      message: expect.stringContaining("not carried out"),
    });
    expect(await failure(pbnj.ended(Promise.resolve({ taskId: running.id })))).toEqual({
      code: "Unknown",
      message: expect.stringContaining("its outcome is unknown"),
    });
    expect(lab.traffic()).toBe(0);
  });

  it("that was accepted long ago is not carried out", async () => {
    await using lab = await pbnjLab();
    const taskId = await leave(lab, left("power-off", { acceptedAt: ago(11 * MINUTE_MS) }));
    await using pbnj = await lab.start();

    expect(await failure(pbnj.ended(Promise.resolve({ taskId })))).toMatchObject({
      code: "DeadlineExceeded",
    });
    expect(lab.traffic()).toBe(0);
  });

  it("is forgotten a day after its end, or if its record is damaged", async () => {
    await using lab = await pbnjLab();
    const end = { at: ago(25 * 60 * MINUTE_MS), result: "done" };
    await leave(lab, left("power-off", { acceptedAt: end.at, end }));
    const folder = join(lab.stateDirectory, "pbnj-tasks");
    await writeFile(join(folder, `${randomUUID()}.json`), '{"version":1}');
    await using pbnj = await lab.start();

    await pbnj.worker.untilLogged("PBnJ task record damaged, task forgotten");
    expect(await readdir(folder)).toEqual([]);
  });
});
