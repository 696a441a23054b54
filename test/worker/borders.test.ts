import { readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { z } from "zod";
import { $ZodType, safeParse } from "zod/v4/core";
import { ConsoleLines } from "../../shared/bmc/operations/console-lines.ts";
import { parseXml } from "../../shared/bmc/providers/amt/xml.ts";
import { describeRecord } from "../../shared/bmc/providers/ipmi/records/describe-record.ts";
import { describeSensor } from "../../shared/bmc/providers/ipmi/records/describe-sensor.ts";
import {
  parseBoardArea,
  parseChassisArea,
  parseProductArea,
} from "../../shared/bmc/providers/ipmi/records/fru.ts";
import { parseSelRecord } from "../../shared/bmc/providers/ipmi/records/sel-record.ts";
import { parseSensorRecord } from "../../shared/bmc/providers/ipmi/records/sensor-record.ts";
import { answerError } from "../../shared/bmc/providers/redfish/service/errors.ts";
import { ErrorBody } from "../../shared/bmc/providers/redfish/service/schema.ts";
import { RpcResponse, readResponse, refusalOf } from "../../shared/bmc/providers/rpc/request-body.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { ActionResult, parseResultLine } from "../../shared/contract/result.ts";
import { INPUT_BYTES } from "../../shared/input-limits.ts";
import { Anonymiser } from "../../shared/recording/anonymise.ts";
import { parseRecording, Recording } from "../../shared/recording/recording.ts";
import { redactor } from "../../shared/secret-forms.ts";
import { fullRecord, redundancyRecord } from "../../simulators/ipmi/sdr-record.ts";
import { describeHost } from "../../worker/features/cluster-machines/described-host.ts";
import {
  describeHardware,
  describeMachine,
} from "../../worker/features/cluster-machines/described-machine.ts";
import { identityTextOf } from "../../worker/features/cluster-machines/identity-secret.ts";
import {
  HardwareConnection,
  MachineConnection,
} from "../../worker/features/cluster-machines/rufio-connection.ts";
import { readSecretKeys, SecretObject } from "../../worker/features/cluster-machines/secret-values.ts";
import { CreateUserRequestSchema } from "../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { PowerAction, PowerRequestSchema } from "../../worker/features/pbnj/api/gen/machine_pb.ts";
import { readAuthn } from "../../worker/features/pbnj/service/authn.ts";
import { createUserWork, powerWork } from "../../worker/features/pbnj/service/work.ts";
import type { RufioApi } from "../../worker/features/rufio/rufio-api.ts";
import { Operation, TaskAction } from "../../worker/features/rufio/rufio-task-action.ts";
import { v1alpha1 } from "../../worker/features/rufio/v1alpha1.ts";
import { v1alpha2 } from "../../worker/features/rufio/v1alpha2.ts";
import { HostObject } from "../../worker/kubernetes/client/host-object.ts";
import { parseIdentityKubeconfig } from "../../worker/kubernetes/client/identity-kubeconfig.ts";
import { KubernetesError } from "../../worker/kubernetes/client/kubernetes-error.ts";
import { emptyInventory } from "../../worker/machines/inventory.ts";
import { resolveMachine } from "../../worker/machines/resolve-machine.ts";
import { decide } from "../../worker/policy/decide.ts";
import { parsePolicy } from "../../worker/policy/parse-policy.ts";
import { Policy } from "../../worker/policy/policy.ts";
import { mountProblem } from "../../worker/runtimes/docker/container-spec.ts";
import { ImageDetails } from "../../worker/runtimes/docker/engine-schema.ts";
import { MalformedAction } from "../../worker/sources/action-fields.ts";
import { ActionResponseSchema } from "../../worker/sources/tink/gen/workflow_pb.ts";
import { actionOf } from "../../worker/sources/tink/tink-messages.ts";
import { parseTemplate } from "../../worker/template/parse-template.ts";
import {
  isWorkflow,
  parseWorkflow,
  renderedTemplate,
  Workflow,
} from "../../worker/template/rendered-workflow.ts";
import { circumstances } from "../support/circumstances.ts";
import {
  type HostileValue,
  hostileBytes,
  hostileMessages,
  hostileTexts,
  hostileValues,
} from "../support/hostile-values.ts";

interface Bound {
  readonly mostMs: number;
  /** The characters of the largest object that is to be read in that time. */
  readonly full: number;
  /** Fewer, for each shape: what then takes so little that it is quick at full size, even if it is quadratic, is not measured again. */
  readonly part: number;
}

/** In CPU time, which does not depend on the machine's load. Other tenants' actions wait and probes fail meanwhile (docs/explanation/security.md); etcd stores no larger object. */
const STALL: Bound = { mostMs: 500, full: 1_400_000, part: 128_000 };
/** For a file that only its owner waits for: it is given to a command, or to the worker when it starts. */
const READING: Bound = { mostMs: 2_500, full: 50_000, part: 8_000 };
/** About as much as the limits allow: the same value with more characters is refused. */
const ALLOWED = 30_000;
const LARGEST_HEAP_BYTES = 256 * 1024 * 1024;
/** The least of so many measurements counts: what else runs only adds to them. */
const MEASUREMENTS = 4;

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

interface Border {
  readonly values: readonly HostileValue[];
  /** `STALL` when absent. */
  readonly bound?: Bound;
  read(value: unknown): unknown;
}

/** Every schema of what a BMC or a service in front of one answers. */
const answerSchemas: readonly (readonly [string, $ZodType])[] = await schemasBelow(
  ...["redfish", "homeassistant", "ironic"],
);

async function schemasBelow(...providers: readonly string[]): Promise<(readonly [string, $ZodType])[]> {
  const files = providers.flatMap((provider) => {
    const folder = join(import.meta.dirname, "../../shared/bmc/providers", provider);
    const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
    return names.filter((file) => file.endsWith(".ts")).map((file) => join(folder, file));
  });
  const modules = await Promise.all(files.map((file) => import(pathToFileURL(file).href)));
  return modules.flatMap((module) =>
    Object.entries(module).filter(
      (entry): entry is [string, $ZodType] =>
        entry[1] instanceof $ZodType || Object(entry[1])._zod !== undefined,
    ),
  );
}

/** Reads what crosses each border as the worker, a command or an action does. */
function borders(characters: number): Readonly<Record<string, Border>> {
  const texts = hostileTexts(characters);
  const done = new Set<$ZodType>();
  return {
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
          decide(policy, circumstances, action);
          resolveMachine(action, emptyInventory, "pbnj-{machine}");
        } catch (thrown) {
          if (!(thrown instanceof MalformedAction)) throw thrown;
        }
      },
    },
    "a Machine's connection": {
      values: hostileValues(MachineConnection, characters, formats),
      read(connection) {
        const object = { metadata, spec: { connection } };
        describeMachine(object, name);
        v1alpha1.machineOf(object);
        v1alpha1.taskObjects?.taskOf({ metadata, spec: { task: {}, connection } });
      },
    },
    "a Hardware's connection": {
      values: hostileValues(HardwareConnection, characters, formats),
      read(connection) {
        const object = { metadata, spec: { bmc: { connection } } };
        describeHardware(object, name);
        v1alpha2.machineOf(object);
      },
    },
    "a BareMetalHost": {
      values: hostileValues(HostObject, characters),
      read: (object) => void describeHost("refuse")(object, name),
    },
    "the spec of a Rufio Job or Task of v1alpha1": rufioSpec(v1alpha1, TaskAction, characters),
    "the spec of a Rufio Job or Task of v1alpha2": rufioSpec(v1alpha2, Operation, characters),
    "an image's configuration": {
      // An engine's lists are of texts.
      values: hostileValues(ImageDetails, characters).filter(({ title }) => !title.endsWith("wrong entries")),
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
    "a Secret": {
      values: hostileValues(SecretObject, characters, { data: { key: "YQ==" } }),
      read: async (secret) => [identityTextOf(secret), await readKeys(secret)],
    },
    "a kubeconfig in a Secret": {
      values: texts,
      read: orRefused((text) => parseIdentityKubeconfig(String(text), undefined), KubernetesError),
    },
    "a PBnJ call": {
      values: [
        ...hostileMessages(PowerRequestSchema, characters, { authn: directAuthn, vendor: { name: "a" } }),
        ...hostileMessages(CreateUserRequestSchema, characters, {
          authn: { authn: { case: "externalAuthn", value: { host: { host: "node-1" } } } },
          userCreds: { username: "a", password: "b" },
        }),
      ],
      read: orRefused((value) => {
        const request = create(CreateUserRequestSchema, value as object);
        readAuthn(request.authn);
        if (request.userCreds) createUserWork(request);
        powerWork(create(PowerRequestSchema, { ...(value as object), powerAction: PowerAction.OFF }));
      }, ConnectError),
    },
    "a template": {
      values: [...asYaml(hostileValues(Workflow, characters, formats, new Set()), templateOf), ...texts],
      bound: READING,
      read: (text) => parseTemplate(String(text), {}),
    },
    "the file of a Workflow": {
      values: [...asYaml(hostileValues(Workflow, characters, formats, new Set()), ofWorkflow), ...texts],
      bound: READING,
      read: (text) => [isWorkflow(String(text)), parseWorkflow("workflow.yaml", String(text))],
    },
    "a Workflow of the cluster": {
      values: hostileValues(Workflow, characters, formats),
      bound: READING,
      read: (value) => renderedTemplate({ value, sourceOf: () => "--workflow" }),
    },
    "the file of a policy": {
      values: [
        ...asYaml(hostileValues(Policy, characters, policySamples, new Set())),
        ...asYaml(manyRules(characters)),
      ],
      bound: READING,
      read: (text) => parsePolicy("policy.yaml", String(text)),
    },
    "a recording": {
      values: hostileValues(Recording, characters, recordingSamples),
      bound: READING,
      read: orRefused((value) => parseRecording(Buffer.from(JSON.stringify(value))), Error),
    },
    "what a recording is made of": {
      values: [
        ...hostileValues(z.record(z.string(), z.unknown()), characters),
        ...texts,
        ...manyWords(characters),
      ],
      bound: READING,
      read(value) {
        const anonymiser = new Anonymiser(redactor({}));
        anonymiser.collect(value);
        anonymiser.value(value);
        anonymiser.text(String(value));
      },
    },
    "an action's result": {
      values: hostileValues(ActionResult, characters),
      read: (value) => parseResultLine(JSON.stringify(value)),
    },
    "a console's text": {
      values: texts,
      read(text) {
        let lines = 0;
        const console = new ConsoleLines(() => (lines += 1));
        console.push(Buffer.from(String(text)));
        console.finishLine();
      },
    },
    "an answer of a BMC or service": {
      values: answerSchemas.flatMap(([name, schema]) =>
        hostileValues(schema, characters, formats, done).map(({ title, make }) => ({
          title: `${name} ${title}`,
          make: () => ({ schema, body: make() }),
        })),
      ),
      bound: { ...STALL, full: STALL.part, part: ALLOWED },
      read(value) {
        const { schema, body } = value as { schema: $ZodType; body: unknown };
        safeParse(schema, body);
      },
    },
    "a refusal over Redfish": {
      // The transport reads no more.
      values: [
        ...hostileValues(ErrorBody, Math.min(characters, INPUT_BYTES.redfishAnswer)),
        ...hostileTexts(Math.min(characters, INPUT_BYTES.redfishAnswer)),
      ],
      read(value) {
        const text = typeof value === "string" ? { text: value } : {};
        const answer = { status: 400, headers: {}, body: value, path: "/redfish/v1", ...text };
        answerError(answer, { method: "PATCH", path: "/redfish/v1", body: { Password: "secret" } }, 0);
      },
    },
    "an answer over WS-Management": {
      values: texts,
      read: orRefused((text) => parseXml(String(text)), Error),
    },
    "a record over IPMI": {
      values: hostileBytes(Math.min(characters, LARGEST_DATAGRAM), ipmiSamples),
      read(value) {
        const bytes = value as Buffer;
        const sensors = parseSensorRecord(bytes);
        for (const sensor of sensors) describeSensor(sensor, undefined);
        describeRecord(parseSelRecord(bytes));
        for (const parse of [parseChassisArea, parseBoardArea, parseProductArea]) parse(bytes);
      },
    },
  };
}

function rufioSpec(api: RufioApi, task: $ZodType, characters: number): Border {
  return {
    values: hostileValues(task, characters, formats),
    read(value) {
      const job = {
        metadata,
        spec: { machineRef: name, hardwareRef: name, tasks: [value], operations: [value] },
      };
      api.jobOf(job);
      api.jobOf({ ...job, spec: { ...job.spec, tasks: listed(value), operations: listed(value) } });
      api.readTask(value);
    },
  };
}

const LARGEST_DATAGRAM = 65_507;
const ipmiSamples = [
  fullRecord({ name: "Fan", kind: "fan", value: 0, lowerCritical: 600 }, 1),
  redundancyRecord(2),
  Buffer.from([1, 0, 2, 0, 0, 0, 0, 0x20, 0, 4, 1, 1, 0x6f, 0, 0xff, 0xff]),
  Buffer.from([1, 2, 25, 0, 0, 0, 0xc4, 0x41, 0x43, 0x4d, 0x45, 0xc2, 0x52, 0x31, 0xc1]),
  Buffer.from([1, 0xff, 0x17, 0xc1, 0xc1]),
];
const directAuthn = {
  authn: { case: "directAuthn", value: { host: { host: "bmc" }, username: "a", password: "b" } },
} as const;
const policySamples = {
  images: ["registry.example/*"],
  trustedImages: ["registry.example/*"],
  privileged: [`registry.example/a@sha256:${"a".repeat(64)}`],
  path: "/data",
  volumeTargets: ["/data"],
  access: "rw",
  kinds: ["Machine"],
  networks: ["10.0.0.0/8"],
};
const recordingSamples = { request: "GET /redfish/v1", data: "00", format: undefined, version: undefined };

/** Rules that are all right one by one, so that what compares them has work. */
function manyRules(characters: number): readonly HostileValue[] {
  const count = characters / 50;
  const many = (rule: (index: number) => unknown) => Array.from({ length: count }, (_, index) => rule(index));
  return [
    { title: "many volumes", make: () => ({ volumes: many((index) => ({ path: `/data/${index}` })) }) },
    {
      title: "many writable volumes",
      make: () => ({ volumes: many((index) => ({ path: `/data/${index}`, access: "rw" })) }),
    },
    {
      title: "nested volumes",
      make: () => ({
        volumes: Array.from({ length: Math.sqrt(characters) }, (_, index) => ({
          path: `/data/${"a/".repeat(index)}b`,
          access: "rw",
        })),
      }),
    },
    {
      title: "many tenants",
      make: () => ({
        tenants: many((index) => ({ namespaces: [`team-${index}`], machines: [`m-${index}`] })),
      }),
    },
  ];
}

/** Texts whose words are all unknown, so that each gets a stand-in. */
function manyWords(characters: number): readonly HostileValue[] {
  const word = (index: number) => `q${(index * 7_919 + 100_000).toString(36)}z`;
  const words = (gap: number) => Array.from({ length: characters / (8 + gap) }, (_, index) => word(index));
  return [
    { title: "words", make: () => ({ Whatever: words(4) }) },
    { title: "names", make: () => Object.fromEntries(words(8).map((name) => [name, 1])) },
    { title: "serial numbers", make: () => ({ SerialNumber: words(4) }) },
    { title: "hosts", make: () => ({ HostName: words(12).map((name) => `server ${name}`) }) },
    {
      title: "percent in percent",
      make: () => ({ Whatever: words(2_000).map((name) => `%${"25".repeat(1_000)}41${name}`) }),
    },
  ];
}

/** Reads a key of a Secret, or says why not. */
async function readKeys(secret: unknown): Promise<unknown> {
  const api = { get: async (_: unknown, __: unknown, schema: $ZodType) => safeParse(schema, secret).data };
  const signal = new AbortController().signal;
  return await readSecretKeys(api as never, name, ["key"], signal).catch((thrown) => {
    if (!(thrown instanceof BmcError)) throw thrown;
  });
}

/** A task of a template, of one of a rendered Workflow. */
function templateOf({ status }: z.input<typeof Workflow>): unknown {
  const { tasks = [], ...others } = status ?? {};
  const renamed = Array.isArray(tasks)
    ? tasks.map(({ agentID, ...task }) => ({ ...task, worker: agentID }))
    : tasks;
  return { version: "0.1", name: "a", ...others, tasks: renamed };
}

/** A value as JSON, which is YAML. */
function asYaml(
  values: readonly HostileValue[],
  changed: (value: never) => unknown = (value) => value,
): readonly HostileValue[] {
  return values.map(({ title, make }) => ({ title, make: () => JSON.stringify(changed(make() as never)) }));
}

const ofWorkflow = (value: object) => ({ kind: "Workflow", ...value });

const orRefused =
  (read: (value: unknown) => unknown, refusal: abstract new (...given: never) => Error) =>
  (value: unknown) => {
    try {
      read(value);
    } catch (thrown) {
      if (!(thrown instanceof refusal) || thrown instanceof RangeError) throw thrown;
    }
  };

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

const sizes = [ALLOWED, ...[STALL, READING].flatMap(({ full, part }) => [full, part])];
const sized = Object.fromEntries(sizes.map((characters) => [characters, borders(characters)]));

it.each(Object.entries(borders(ALLOWED)))(
  "%s is read or refused without a stall",
  { timeout: 300_000 },
  async (name, border) => {
    const { full, part, mostMs } = border.bound ?? STALL;
    const material = mostMs / (full / part) ** 2;
    const tooCostly: string[] = [];
    const costOf = async (index: number, characters: number) => {
      const value = sized[characters]?.[name]?.values[index];
      if (!value) throw new Error(`no value ${index} of ${characters} characters`);
      const isFine = (cost: Cost) => cost.ms < mostMs && cost.bytes < LARGEST_HEAP_BYTES;
      const cost = await leastCost(border, value, isFine);
      if (!isFine(cost))
        tooCostly.push(
          `${value.title}, ${characters} characters: ${Math.round(cost.ms)} ms, ${cost.bytes} bytes`,
        );
      return cost.ms;
    };
    let worst = { index: 0, ms: 0 };
    const seen = new Set<string>();
    for (const [index, { title }] of border.values.entries()) {
      // More characters than are allowed matter once per shape: limits are counted before a field is read.
      const shape = title.split(": ").at(-1) ?? "";
      const isQuick = ALLOWED < part && (await costOf(index, ALLOWED)) < mostMs / (part / ALLOWED) ** 2;
      if (isQuick && seen.has(shape)) continue;
      seen.add(shape);
      const ms = await costOf(index, part);
      if (ms > worst.ms) worst = { index, ms };
      if (ms >= material) await costOf(index, full);
    }
    if (worst.ms < material) await costOf(worst.index, full);
    expect(border.values.length).toBeGreaterThan(0);
    expect(tooCostly).toEqual([]);
  },
);

interface Cost {
  readonly ms: number;
  readonly bytes: number;
}

/** The cost of one reading; if it is not fine, the least of several. */
async function leastCost(
  { read }: Border,
  { make }: HostileValue,
  isFine: (cost: Cost) => boolean,
): Promise<Cost> {
  let least: Cost = { ms: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };
  for (let time = 0; time < MEASUREMENTS && !isFine(least); time += 1) {
    const value = make();
    const heap = process.memoryUsage().heapUsed;
    const before = process.threadCpuUsage();
    await read(value);
    const { user, system } = process.threadCpuUsage(before);
    const bytes = process.memoryUsage().heapUsed - heap;
    least = { ms: Math.min(least.ms, (user + system) / 1_000), bytes: Math.min(least.bytes, bytes) };
  }
  return least;
}
