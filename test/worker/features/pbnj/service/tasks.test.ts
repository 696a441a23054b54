import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { systemClock } from "../../../../../shared/clock.ts";
import { silentLogger } from "../../../../../shared/logger.ts";
import { AuthnSchema } from "../../../../../worker/features/pbnj/api/gen/common_pb.ts";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { CALLER } from "../../../../../worker/features/pbnj/caller.ts";
import { Requests, type RequestsOptions } from "../../../../../worker/features/pbnj/service/requests.ts";
import { TaskStore } from "../../../../../worker/features/pbnj/service/task-store.ts";
import { Tasks } from "../../../../../worker/features/pbnj/service/tasks.ts";
import { clearSelWork, nmiWork, type Work } from "../../../../../worker/features/pbnj/service/work.ts";
import { direct, EXTERNAL, failure } from "./pbnj-lab.ts";

const common = { image: "{action}", version: "1.0.0", clock: systemClock, log: silentLogger };

async function requestsLab(options: Partial<RequestsOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), "pbnj-tasks-"));
  const store = new TaskStore({ ...common, directory });
  await store.open();
  const tasks = new Tasks({ ...common, store, mostPending: 2 });
  const requests = new Requests({
    ...common,
    ...{ tasks, store, secretsProblem: undefined },
    refusalOf: () => undefined,
    isStopping: () => false,
    ...options,
  });
  const context = {
    method: Machine.method.power,
    requestHeader: new Headers(),
    signal: new AbortController().signal,
    values: createContextValues().set(CALLER, { mayUse: () => true }),
  };
  return {
    store,
    tasks,
    directory,
    submit: (authn: typeof EXTERNAL | ReturnType<typeof direct> = EXTERNAL) =>
      requests.submit({ authn: create(AuthnSchema, authn) }, nmiWork(), context),
    /** With an x-request-id. */
    submitAs: (requestId: string, work: Work) => {
      const requestHeader = new Headers({ "x-request-id": requestId });
      return requests.submit({ authn: create(AuthnSchema, EXTERNAL) }, work, { ...context, requestHeader });
    },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  };
}

it("refuses tasks beyond a limit of pending ones", async () => {
  await using lab = await requestsLab();
  await lab.submit();
  await lab.submit();

  expect(await failure(lab.submit())).toEqual({
    code: "ResourceExhausted",
    message: "2 tasks are pending: retry later",
  });
});

it("says that a task did not start in time because its machine was paused", async () => {
  await using lab = await requestsLab();
  const record = await lab.submit();
  const paused = "machine node-01 is paused: new disks (inventory inventory.yaml)";
  const acceptedAt = new Date(Date.now() - 11 * 60_000).toISOString();
  lab.store.keep({ ...record, acceptedAt, messages: ["waiting for the machine", paused] });
  const stop = new AbortController();
  const running = lab.tasks.run(stop.signal);

  const { end } = await lab.tasks.ended(record.id, AbortSignal.timeout(60_000));
  stop.abort();
  await running;

  expect(end.error?.message).toBe(`not carried out within 10 minutes: ${paused}`);
});

it("refuses secrets where they would be stored in a cluster", async () => {
  await using lab = await requestsLab({ secretsProblem: "stored in the cluster" });

  expect(await failure(lab.submit(direct()))).toMatchObject({ code: "FailedPrecondition" });
  await lab.submit();
});

it("accepts no task that it cannot record", async () => {
  await using lab = await requestsLab();
  const { store, directory } = lab;
  await rm(directory, { recursive: true });

  const twice = [lab.submitAs("first", nmiWork()), lab.submitAs("first", nmiWork())];

  for (const refused of await Promise.all(twice.map(failure))) {
    expect(refused).toEqual({ code: "Unavailable", message: "the task cannot be recorded" });
  }
  expect(store.pending()).toEqual([]);
  await store.open();
});

it("finds the last task with a request ID while earlier ones change and are removed", async () => {
  await using lab = await requestsLab();
  const { store } = lab;
  const earlier = await lab.submitAs("first", nmiWork());
  const { id } = await lab.submitAs("first", clearSelWork());

  store.keep({ ...earlier, messages: ["working"] });
  expect(await lab.submitAs("first", clearSelWork())).toMatchObject({ id });
  await store.remove(earlier.id);
  expect(await lab.submitAs("first", clearSelWork())).toMatchObject({ id });
});
