import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { createContextValues } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { systemClock } from "../../../../../shared/clock.ts";
import { silentLogger } from "../../../../../shared/logger.ts";
import { AuthnSchema } from "../../../../../worker/source/pbnj/api/gen/common_pb.ts";
import { Machine } from "../../../../../worker/source/pbnj/api/gen/machine_pb.ts";
import { CALLER } from "../../../../../worker/source/pbnj/caller.ts";
import { Requests, type RequestsOptions } from "../../../../../worker/source/pbnj/service/requests.ts";
import { TaskStore } from "../../../../../worker/source/pbnj/service/task-store.ts";
import { Tasks } from "../../../../../worker/source/pbnj/service/tasks.ts";
import { nmiWork } from "../../../../../worker/source/pbnj/service/work.ts";
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
    directory,
    submit: (authn: typeof EXTERNAL | ReturnType<typeof direct> = EXTERNAL) =>
      requests.submit({ authn: create(AuthnSchema, authn) }, nmiWork(), context),
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

it("refuses secrets where they would be stored in a cluster", async () => {
  await using lab = await requestsLab({ secretsProblem: "stored in the cluster" });

  expect(await failure(lab.submit(direct()))).toMatchObject({ code: "FailedPrecondition" });
  await lab.submit();
});

it("accepts no task that it cannot record", async () => {
  await using lab = await requestsLab();
  const { store, directory } = lab;
  await rm(directory, { recursive: true });

  expect(await failure(lab.submit())).toMatchObject({ code: "Unavailable" });
  expect(store.pending()).toEqual([]);
  await store.open();
});
