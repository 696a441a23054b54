import { Code, createClient } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from "../../../../../worker/features/pbnj/listener/gen/grpc/health/v1/health_pb.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { serving } from "./serving.ts";

test("a check answers for the server and each service", async () => {
  let isServing = true;
  await using api = await serving({ isServing: () => isServing });
  const health = createClient(Health, api.grpc());

  expect(await health.check({})).toMatchObject({ status: Status.SERVING });
  isServing = false;
  expect(await health.check({ service: Machine.typeName })).toMatchObject({ status: Status.NOT_SERVING });
  await expect(health.check({ service: "other" })).rejects.toMatchObject({ code: Code.NotFound });
  expect(Object.keys((await health.list({})).statuses)).toEqual(["", Machine.typeName]);
});

test("a watch has the status at once, and then each change", async () => {
  let isServing = true;
  await using api = await serving({ isServing: () => isServing, clock: scaledClock(100) });
  const health = createClient(Health, api.grpc());
  const seen: Status[] = [];
  const stop = new AbortController();
  const unknown = health.watch({ service: "other" }, { signal: stop.signal })[Symbol.asyncIterator]();
  expect(await unknown.next()).toMatchObject({ value: { status: Status.SERVICE_UNKNOWN } });

  try {
    for await (const { status } of health.watch({}, { signal: stop.signal })) {
      seen.push(status);
      isServing = !isServing;
      if (seen.length === 3) stop.abort();
    }
  } catch {
    // Aborted.
  }

  expect(seen).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING]);
});
