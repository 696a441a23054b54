import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { formsOf } from "../../../../../shared/secret-forms.ts";
import { BMC } from "../../../../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { Diagnostic } from "../../../../../worker/features/pbnj/api/gen/diagnostic_pb.ts";
import { Machine } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { type StatusResponse, Task } from "../../../../../worker/features/pbnj/api/gen/task_pb.ts";
import { actionLab, type LabOptions } from "../../../../actions/lab.ts";
import { standingWorker } from "../../../../support/standing-worker.ts";

/** The machine of the inventory. */
export const EXTERNAL = {
  authn: { case: "externalAuthn", value: { host: { host: "node-01" } } },
} as const;

/** Its BMC, with credentials. */
export const direct = (password = "calvin", username = "admin", host = "127.0.0.1") =>
  ({
    authn: { case: "directAuthn", value: { host: { host }, username, password } },
  }) as const;

export interface PbnjLabOptions extends LabOptions {
  readonly argv?: readonly string[];
  readonly policy?: string;
}

/** A machine behind a Redfish and an IPMI BMC, and `pbnj-worker serve` inside this process. */
export async function pbnjLab({ argv = [], policy = "{}", ...options }: PbnjLabOptions = {}) {
  const rack = await actionLab({ redfish: { profile: "dell-idrac9" }, ...options });
  const stateDirectory = rack.path("state");
  const passwordFile = await rack.write("password", "calvin\n");
  const policyFile = await rack.write("policy.yaml", policy);
  const { redfish, ipmi } = rack.connection("redfish", "ipmi");
  const defaults = {
    providers: ["redfish", "ipmi"],
    redfish,
    ipmi: { ...ipmi, privilege: "administrator" },
    credentials: { username: "admin", passwordFile },
  };
  const inventory = { defaults, machines: [{ name: "node-01", host: "127.0.0.1" }] };
  const inventoryFile = await rack.write("inventory.yaml", inventory);
  const files = ["--inventory", inventoryFile, "--policy", policyFile, "--state-directory", stateDirectory];

  const served = ["serve", "--pbnj-address", "127.0.0.1:0", ...files, ...argv];

  /** One worker at a time: they share the state directory. */
  async function start(...more: readonly string[]) {
    const worker = await standingWorker([...served, ...more]);
    const { url } = await worker.untilLogged("serving PBnJ's API");
    return {
      ...clientsOf(String(url)),
      worker,
      [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
    };
  }

  return {
    ...rack,
    start,
    /** The command line of that worker. */
    argv: served,
    stateDirectory,
    /** The files of the state directory that have a text in any form. */
    filesWith: (text: string) => filesWith(stateDirectory, formsOf(text)),
  };
}

export function clientsOf(baseUrl: string) {
  const transport = createGrpcTransport({ baseUrl });
  const task = createClient(Task, transport);
  return {
    task,
    machine: createClient(Machine, transport),
    bmc: createClient(BMC, transport),
    diagnostic: createClient(Diagnostic, transport),
    /** Waits for a task's end, like PBnJ's client. */
    ended: (asked: Promise<{ readonly taskId: string }>) => untilComplete(task, asked),
  };
}

async function untilComplete(
  task: Client<typeof Task>,
  asked: Promise<{ readonly taskId: string }>,
): Promise<StatusResponse> {
  const { taskId } = await asked;
  for (;;) {
    const status = await task.status({ taskId });
    if (status.complete) return status;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The gRPC code and message of a call that fails. */
export async function failure(call: Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await call;
  } catch (thrown) {
    const { code, rawMessage } = ConnectError.from(thrown);
    return { code: Code[code], message: rawMessage };
  }
  throw new Error("the call succeeded");
}

async function filesWith(folder: string, forms: readonly string[]): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    // A file that is being replaced may be gone.
    const text = await readFile(path, "utf8").catch(() => "");
    if (forms.some((form) => text.includes(form))) found.push(path);
  }
  return found;
}
