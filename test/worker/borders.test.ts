import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { actionLibrary } from "../../cli/action-library.ts";
import { RpcResponse, readResponse, refusalOf } from "../../shared/bmc/providers/rpc/request-body.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { describeHost } from "../../worker/features/cluster-machines/described-host.ts";
import {
  describeHardware,
  describeMachine,
} from "../../worker/features/cluster-machines/described-machine.ts";
import {
  HardwareConnection,
  MachineConnection,
} from "../../worker/features/cluster-machines/rufio-connection.ts";
import { Operation, TaskAction } from "../../worker/features/rufio/rufio-task-action.ts";
import { v1alpha1 } from "../../worker/features/rufio/v1alpha1.ts";
import { v1alpha2 } from "../../worker/features/rufio/v1alpha2.ts";
import { HostObject } from "../../worker/kubernetes/client/host-object.ts";
import { emptyInventory } from "../../worker/machines/inventory.ts";
import { resolveMachine } from "../../worker/machines/resolve-machine.ts";
import { decide } from "../../worker/policy/decide.ts";
import { Policy } from "../../worker/policy/policy.ts";
import { mountProblem } from "../../worker/runtimes/docker/container-spec.ts";
import { ImageDetails } from "../../worker/runtimes/docker/engine-schema.ts";
import { MalformedAction } from "../../worker/sources/action-fields.ts";
import { ActionResponseSchema } from "../../worker/sources/tink/gen/workflow_pb.ts";
import { actionOf } from "../../worker/sources/tink/tink-messages.ts";
import { type HostileValue, hostileMessages, hostileValues } from "../support/hostile-values.ts";

/** The longest stall: other tenants' actions wait and probes fail meanwhile (docs/explanation/security.md). In CPU time, which does not depend on the machine's load. */
const LONGEST_STALL_MS = 500;
const LARGEST_HEAP_BYTES = 256 * 1024 * 1024;

const name = { namespace: "team-a", name: "node-1" };
const metadata = { ...name, uid: "1", resourceVersion: "1" };
const formats = {
  host: "127.0.0.1",
  consumerURL: "http://127.0.0.1/",
  customRequestPayload: "{}",
  dotPath: "a.b",
  preferredOrder: ["ipmitool"],
  switchEntityID: "switch.node_1",
  hostScheme: "http",
  cipherSuite: "17",
  httpMethod: "POST",
  secrets: { sha256: [{ name: "a", namespace: "team-a" }] },
  homeassistant: undefined,
  timestampFormat: "2006-01-02",
};

/** Reads what crosses each border as the worker does. */
const borders = (
  characters: number,
): Readonly<Record<string, { values: readonly HostileValue[]; read(value: unknown): void }>> => ({
  "an action": {
    values: hostileMessages(ActionResponseSchema, characters, {
      workflowId: "team-a/wf",
      taskId: "task",
      agentId: "agent",
      actionId: "action",
      name: "power-off",
      image: "registry.example/power-off:1",
      pid: "host",
    }),
    read(value) {
      const policy = Policy.parse({
        volumes: [
          { path: "/data", access: "ro" },
          { path: "/data/a", access: "ro" },
        ],
      });
      try {
        const action = actionOf(create(ActionResponseSchema, value as object), "agent");
        if (action.unreadable !== undefined) return;
        decide(policy, actionLibrary, action);
        resolveMachine(action, emptyInventory, "pbnj-{machine}");
      } catch (thrown) {
        if (!(thrown instanceof MalformedAction)) throw thrown;
      }
    },
  },
  "a Machine's connection": {
    values: hostileValues(MachineConnection, characters, formats),
    read: (connection) => void describeMachine({ metadata, spec: { connection } }, name),
  },
  "a Hardware's connection": {
    values: hostileValues(HardwareConnection, characters, formats),
    read: (connection) => void describeHardware({ metadata, spec: { bmc: { connection } } }, name),
  },
  "a BareMetalHost": {
    values: hostileValues(HostObject, characters),
    read: (object) => void describeHost("refuse")(object, name),
  },
  "the specs of a Rufio Job and Task": {
    values: [TaskAction, Operation].flatMap((schema) => hostileValues(schema, characters, formats)),
    read(value) {
      const job = {
        metadata,
        spec: { machineRef: name, hardwareRef: name, tasks: [value], operations: [value] },
      };
      const many = { ...job, spec: { ...job.spec, tasks: listed(value), operations: listed(value) } };
      for (const api of [v1alpha1, v1alpha2]) {
        api.jobOf(job);
        api.jobOf(many);
        api.readTask(value);
      }
    },
  },
  "an image's configuration": {
    values: hostileValues(ImageDetails, characters),
    read(value) {
      const { data } = ImageDetails.safeParse(value);
      const volumes = Array.from({ length: 1_000 }, (_, index) => `/data/${index}:/data/${index}`);
      mountProblem(volumes, data?.Config ?? undefined);
    },
  },
  "a webhook's answer": {
    values: hostileValues(RpcResponse, characters),
    read: (value) => void readAnswer(JSON.stringify(value)),
  },
});

function listed(value: unknown): readonly unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value) : [value];
}

function readAnswer(text: string): void {
  const answer = { status: 200, headers: {}, body: Buffer.from(text) };
  try {
    const exchange = { answer, doing: "the webhook", effect: "command", nowMs: 0 } as const;
    refusalOf(readResponse(exchange), "the webhook", "command");
  } catch (thrown) {
    if (!(thrown instanceof BmcError)) throw thrown;
  }
}

/** More than any limit allows, as much as etcd stores; and about as much as the limits allow. */
const sized = [1_400_000, 30_000].flatMap((characters) =>
  Object.entries(borders(characters)).map(([border, about]) => [border, characters, about] as const),
);

describe.each(sized)("%s of %s characters", (_, __, { values, read }) => {
  it.each(values)("is read or refused without a stall: $title", ({ value }) => {
    const before = process.threadCpuUsage();
    const heap = process.memoryUsage().heapUsed;

    read(value);

    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(LONGEST_STALL_MS);
    expect(process.memoryUsage().heapUsed - heap).toBeLessThan(LARGEST_HEAP_BYTES);
  });
});
