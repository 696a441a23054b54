import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { z } from "zod";
import { withoutServiceLinks } from "../../../actions/harness/input/environment.ts";
import { parseFlags } from "../../../actions/harness/input/flags.ts";
import { reference as inventory } from "../../../actions/inventory/reference.ts";
import powerOff from "../../../actions/power-off/action.ts";
import { readBashWords } from "../../../cli/complete.ts";
import { parseArguments } from "../../../shared/contract/given.ts";
import { decodeText, FileProblem } from "../../../shared/read-text-file.ts";
import { actionEntries } from "../../../worker/core/action/action-journal.ts";
import { parseBootTime } from "../../../worker/core/action/boot-time.ts";
import { hardwareSeen } from "../../../worker/core/action/hardware-seen.ts";
import { decodeEntry, encodeEntry } from "../../../worker/core/journal/entry-text.ts";
import { Selector } from "../../../worker/document/labels.ts";
import { readSecretText } from "../../../worker/document/secret-text.ts";
import { folderName, isFolderName } from "../../../worker/features/action-log/names.ts";
import {
  describeHardware,
  describeMachine,
} from "../../../worker/features/cluster-machines/described-machine.ts";
import { timestampLayout } from "../../../worker/features/cluster-machines/timestamp-layout.ts";
import { openMetricsText, preferredFormat } from "../../../worker/features/metrics/metrics.ts";
import { machineStatus } from "../../../worker/features/rufio/machine-status.ts";
import { outOfBand } from "../../../worker/features/rufio/out-of-band.ts";
import { jobOf, machineOf, taskOf } from "../../../worker/features/rufio/rufio-kinds.ts";
import { readOperation, readTask } from "../../../worker/features/rufio/rufio-task-action.ts";
import { v1alpha2 } from "../../../worker/features/rufio/v1alpha2.ts";
import { addressOf, matches, queryOf } from "../../../worker/features/status/views/query.ts";
import { errorOfAnswer, errorOfEvent } from "../../../worker/kubernetes/client/kubernetes-error.ts";
import { HttpAddress } from "../../../worker/listener/http/http-settings.ts";
import { namesLoopback } from "../../../worker/listener/loopback.ts";
import { lockKeyOf, serviceLockKey } from "../../../worker/machines/lock-key.ts";
import { parsePrinted } from "../../../worker/machines/printed-secrets.ts";
import { lastErrorLine } from "../../../worker/machines/run-secret-command.ts";
import { matchesImagePattern } from "../../../worker/policy/image-rule.ts";
import { Policy } from "../../../worker/policy/policy.ts";
import { volumeProblem } from "../../../worker/policy/volume-rule.ts";
import { matchesName, matchesWildcard } from "../../../worker/policy/wildcard.ts";
import { parseEngineAddress } from "../../../worker/runtimes/docker/engine-address.ts";
import { parseAnswer } from "../../../worker/runtimes/docker/engine-connection.ts";
import { EngineError } from "../../../worker/runtimes/docker/engine-error.ts";
import {
  ContainerDetails,
  ImageDetails,
  ListedContainers,
  PullProgress,
} from "../../../worker/runtimes/docker/engine-schema.ts";
import { parseRegistryName } from "../../../worker/runtimes/docker/registry-login.ts";
import {
  JobObject,
  observedJob,
  observedPod,
  PodObject,
} from "../../../worker/runtimes/kubernetes/job-objects.ts";
import { terminationResult } from "../../../worker/runtimes/kubernetes/pod-outcome.ts";
import { launchName } from "../../../worker/runtimes/launch-name.ts";
import { MalformedAction } from "../../../worker/sources/action-fields.ts";
import { messagesOf } from "../../../worker/sources/grpc/call.ts";
import { createDialer } from "../../../worker/sources/grpc/dial.ts";
import { repairStatus } from "../../../worker/sources/grpc/http2-connection.ts";
import { ServerAddress } from "../../../worker/sources/server/server-settings.ts";
import { agentAttributes } from "../../../worker/sources/tink/agent-attributes.ts";
import { ActionResponseSchema, AgentAttributesSchema } from "../../../worker/sources/tink/gen/workflow_pb.ts";
import { pollOfError } from "../../../worker/sources/tink/tink-api.ts";
import { actionOf } from "../../../worker/sources/tink/tink-messages.ts";
import { entryOf } from "../../worker/core/journal/entries.ts";
import { bytesOf, latin, type Target } from "../target.ts";
import { JSON_TOKENS, jsonOf } from "./json.ts";

const ACTION = toBinary(
  ActionResponseSchema,
  create(ActionResponseSchema, {
    workflowId: "default/w",
    taskId: "t",
    agentId: "agent",
    actionId: "a",
    name: "n",
    image: "i",
    timeout: 90n,
    command: ["--mode", "hard"],
    environment: ["A=b"],
  }),
);
const OBJECT = {
  metadata: { name: "one", namespace: "tink", uid: "1", resourceVersion: "2", labels: { a: "b" } },
  spec: {
    connection: {
      host: "192.0.2.1",
      port: 443,
      authSecretRef: { name: "s", namespace: "tink" },
      providerOptions: { redfish: { port: 443 } },
    },
    machineRef: { name: "one", namespace: "tink" },
    tasks: [{ powerAction: "off" }],
    task: { powerAction: "off" },
  },
  status: {
    conditions: [{ type: "Contactable", status: "True", message: "took 1.5s" }],
    phase: "Running",
    containerStatuses: [],
  },
};
const STATUS = '{"kind":"Status","message":"no","reason":"NotFound","code":404}';
const VOLUMES = Policy.parse({ volumes: [{ path: "/dev" }] });
const isFileProblem = (thrown: unknown) => thrown instanceof FileProblem;
/** Node refuses longer headers, and with them longer addresses. */
const HEADER = 16 * 1_024;
const COMMAND_OUTPUT = 64 * 1_024;
const OBJECT_NAME = { namespace: "tink", name: "one" };

/** What servers, the engine, the cluster, commands, clients and files give the worker. */
export const workerTargets: readonly Target[] = [
  {
    name: "hardware",
    seeds: [JSON.stringify(inventory.result.data)],
    tokens: [...JSON_TOKENS, '"disks":[', '{"name":"Disk 0","serial":"1","bytes":1024},', '"bytes":1e308'],
    around: [['{"system":{},"disks":[', "]}"]],
    call: (input) => {
      const seen = hardwareSeen({ action: "inventory", data: jsonOf(input) }, (text) => text);
      return seen && [toBinary(AgentAttributesSchema, agentAttributes(seen)).length, outOfBand(seen)];
    },
    holds: (result) => {
      const [bytes] = (result ?? [0]) as [number];
      if (bytes > 64 * 1_024) throw new Error(`attributes of ${bytes} bytes`);
    },
  },
  {
    name: "grpc-message",
    seeds: [latin([0, 0, 0, 0, ACTION.length, ...ACTION])],
    tokens: [latin([0, 0, 0, 0, 0]), latin(ACTION), latin([0x0a, 1, 0x61])],
    around: [[latin([0, 0, 0, 0, 5]), ""]],
    call: (input) => {
      const answer = { headers: new Headers(), trailer: { "grpc-status": "0" }, body: bytesOf(input) };
      return [...messagesOf(answer, ActionResponseSchema)];
    },
    throws: (thrown) => thrown instanceof ConnectError,
  },
  {
    name: "grpc-action",
    seeds: [latin(ACTION)],
    tokens: [latin([0x0a, 1, 0x61]), latin([0x42, 3, 0x41, 0x3d, 0x62]), latin([0xff, 0xff, 0x01])],
    call: (input) => {
      let message: ReturnType<typeof fromBinary<typeof ActionResponseSchema>>;
      try {
        message = fromBinary(ActionResponseSchema, bytesOf(input));
      } catch {
        return undefined;
      }
      const action = actionOf(message, "agent");
      return [action, launchName(action), folderName(action.workflowId)];
    },
    throws: (thrown) => thrown instanceof MalformedAction,
  },
  {
    name: "grpc-status",
    seeds: ["not%20found", "100 %", "CAUSBW5vcGU"],
    tokens: ["%", "%20", "%C3", "AAAA", "error:0A:a:b:c:"],
    longest: HEADER,
    call: (input) => {
      const fields = {
        "grpc-status": "7",
        "grpc-message": latin(bytesOf(input)).replace(/[\0\r\n]/g, ""),
        "grpc-status-details-bin": input.replace(/[^\x20-\x7e]/g, ""),
      };
      repairStatus(fields);
      const answer = { headers: new Headers(), trailer: fields, body: Buffer.alloc(0) };
      try {
        return [...messagesOf(answer, ActionResponseSchema)];
      } catch (thrown) {
        return pollOfError(thrown);
      }
    },
  },
  {
    name: "server-address",
    seeds: ["tink.example:42113", "[2001:db8::1]:42113", "off"],
    tokens: [":", "[::1]", "a.", ":1"],
    call: (input) => {
      try {
        createDialer({ server: input, tls: false });
      } catch (thrown) {
        if (!(thrown instanceof TypeError)) throw thrown;
      }
      return [ServerAddress.safeParse(input), HttpAddress.safeParse(input)];
    },
  },
  {
    name: "engine-answer",
    seeds: [
      '{"Id":"a","State":{"Status":"running","ExitCode":0,"StartedAt":"2026-01-02T03:04:05Z","FinishedAt":""},"Config":{"Labels":{"a":"b"}}}',
      '[{"Id":"a","Labels":{}}]',
      '{"status":"Pulling","id":"a"}',
    ],
    tokens: [...JSON_TOKENS, '{"Id":"a"},', '"Labels":{', '"Id":'],
    around: [["[", "]"]],
    call: (input) => {
      for (const schema of [ContainerDetails, ImageDetails, ListedContainers, PullProgress] as const) {
        try {
          parseAnswer(schema as z.ZodType<unknown>, input, "asking");
        } catch (thrown) {
          if (!(thrown instanceof EngineError)) throw thrown;
          if (thrown.message.length > 2_000)
            throw new Error(`a message of ${thrown.message.length} characters`);
        }
      }
    },
  },
  {
    name: "cluster-object",
    seeds: [JSON.stringify(OBJECT)],
    tokens: [
      ...JSON_TOKENS,
      '{"type":"Contactable","status":"True"},',
      '"conditions":[',
      '{"powerAction":"off"},',
      '"labels":{',
    ],
    around: [
      [
        '{"metadata":{"name":"a","namespace":"b","uid":"1","resourceVersion":"1"},"status":{"conditions":[',
        "]}}",
      ],
      [
        '{"metadata":{"name":"a","namespace":"b","uid":"1","resourceVersion":"1"},"spec":{"connection":{"providerOptions":{',
        "}}}}",
      ],
    ],
    call: (input) => {
      const object = jsonOf(input);
      const [job, pod] = [JobObject.safeParse(object), PodObject.safeParse(object)];
      return [
        jobOf(object),
        taskOf(object),
        machineOf(object),
        readTask(object),
        readOperation(object),
        v1alpha2.jobOf(object),
        v1alpha2.machineOf(object),
        describeMachine(object, OBJECT_NAME),
        describeHardware(object, OBJECT_NAME),
        job.success && observedJob(job.data),
        pod.success && observedPod(pod.data),
      ];
    },
  },
  {
    name: "cluster-condition",
    seeds: ["took 1.5s at 2026-01-02T03:04:05Z", "15:04"],
    tokens: ["1.5s", "1.", "2026-01-02T", "00"],
    call: (message) => {
      const conditions = [{ type: "Contactable", status: "False", message }] as const;
      const seen = { contactable: false, message: "away", refused: false } as const;
      return [machineStatus({ powerState: "on", conditions }, seen, 0), timestampLayout(message)];
    },
  },
  {
    name: "cluster-refusal",
    seeds: [STATUS, "<html>no</html>"],
    tokens: [...JSON_TOKENS, '"message":"', " \n"],
    call: (input) => [
      errorOfAnswer("get pods", 404, input, input.slice(0, 20)),
      errorOfEvent("watch pods", jsonOf(input)),
    ],
  },
  {
    name: "termination-message",
    seeds: ['log\n{"action":"a","ok":false,"class":"bmc","message":"no","durationMs":1,"roundTrips":0}\n'],
    tokens: ["\n", "{}\n"],
    call: terminationResult,
  },
  {
    name: "journal-entry",
    seeds: [
      encodeEntry(entryOf("a1")) + encodeEntry(entryOf("a1", "ended")),
      encodeEntry(entryOf("a1", "launched")),
    ],
    tokens: [...JSON_TOKENS, "}\n{", '"phase":"ended",', '"handle":{', '"version":1,', '"checksum":'],
    around: [[`${JSON.stringify(entryOf("a1", "launched")).slice(0, -2)},`, "}}"]],
    longest: 64 * 1_024,
    call: (text) => decodeEntry(text, actionEntries),
  },
  {
    name: "wildcard",
    seeds: ["registry.example/*/tool", "**", "rack-1-*", "a*b*c"],
    tokens: ["*a", "**", "*/", "a*a", "**/"],
    longest: HEADER,
    call: (input) => {
      const name = input.slice(0, 255);
      const reference = { repository: name, name };
      return [
        matchesWildcard(input.slice(0, 50), input.replaceAll("*", "a")),
        matchesName(input.slice(0, 50), input.replaceAll("*", "a")),
        Selector.parse(input)?.matches({ rack: input }),
        matchesWildcard("*a*a*a*a*b", input),
        matchesImagePattern(input.slice(0, 50), reference),
      ];
    },
  },
  {
    name: "volume",
    seeds: ["/dev:/dev:ro", "/var/run/docker.sock:/a", "/a/../b:/c"],
    tokens: ["/", "/..", "/a", ":ro", ",ro"],
    call: (input) => volumeProblem(input, VOLUMES, { workflowId: "default/w" }),
  },
  {
    name: "engine-address",
    seeds: ["unix:///run/docker.sock", "tcp://[::1]:2376", "tcp://engine.example:99999/"],
    tokens: ["tcp://", "[", "]", ":", "/", "a.b"],
    call: parseEngineAddress,
  },
  {
    name: "registry-name",
    seeds: ["https://index.docker.io/v1/", "registry.example:5000", "[::1]:5000"],
    tokens: ["https://", "/v2/", ":", ".", "a-"],
    call: parseRegistryName,
  },
  {
    name: "boot-time",
    seeds: ["12345678-1234-1234-1234-123456789012+1234"],
    tokens: ["-", "+1", "a"],
    call: parseBootTime,
  },
  {
    name: "secret-text",
    seeds: ["password\n", '{"username":"a","password":"b"}'],
    tokens: [...JSON_TOKENS, "\r\n", "\r", '"secrets":['],
    longest: COMMAND_OUTPUT,
    call: (input) => {
      const problems: string[] = [];
      for (const read of [readSecretText, parsePrinted, (text: string) => decodeText(bytesOf(text))]) {
        try {
          read(input);
        } catch (thrown) {
          if (!isFileProblem(thrown)) throw thrown;
          problems.push((thrown as FileProblem).message);
        }
      }
      return problems;
    },
  },
  {
    name: "command-failure",
    seeds: ["permission denied", "token: abc", '{"password":"abcdefgh"}'],
    tokens: ["token: ", "password=", "Bearer ", "a ", "ab "],
    longest: COMMAND_OUTPUT,
    // A line is cut at a thousand characters before it comes here.
    call: (input) => lastErrorLine(input.slice(0, 1_000), input, [input]),
  },
  {
    name: "status-page-query",
    seeds: ["?q=one&state=running&page=2", "?page=-1"],
    tokens: ["&q=", "%20", "%zz", "&page=9", "+"],
    longest: HEADER,
    call: (input) => {
      const query = queryOf(new URLSearchParams(input));
      return [addressOf("/", query), matches(query, input)];
    },
  },
  {
    name: "http-headers",
    seeds: [
      "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.4",
      "localhost:42180",
      "[::1]:80",
    ],
    tokens: [",", ";q=1", "text/plain,", "localhost.", "a."],
    longest: HEADER,
    call: (input) => [preferredFormat(input), namesLoopback(input)],
  },
  {
    name: "metrics-text",
    seeds: ["# HELP a_total b\n# TYPE a_total counter\na_total 1\n"],
    tokens: ["_total", "# TYPE a_total counter\n", "# HELP "],
    call: openMetricsText,
  },
  {
    name: "names",
    seeds: ["tink/workflow-1", "../../etc", "192.0.2.1", "https://a.example/b"],
    tokens: ["/", "..", "-", ".", "a"],
    call: (input) => [folderName(input), lockKeyOf(input, {}), serviceLockKey("rpc", input, input)],
    holds: (result) => {
      const [folder] = result as readonly [string];
      if (!isFolderName(folder)) throw new Error(`${folder} is no name of a folder`);
    },
  },
  {
    name: "action-arguments",
    seeds: ["--mode hard --bmc-host 192.0.2.1", "--timeout=5m"],
    tokens: ["--mode ", "--mdoe=a ", "-- ", "--bmc-host=", "_ENV_", "_PORT_1_TCP_"],
    // The kernel gives an argument, or a variable, 128 KiB.
    longest: 128 * 1_024,
    call: (input) => {
      const words = input.split(" ");
      const flags = parseFlags(powerOff, words);
      return [flags, parseArguments(words), readBashWords(words), withoutServiceLinks({ [input]: input })];
    },
  },
];
