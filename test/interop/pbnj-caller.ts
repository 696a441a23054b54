import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { type DescService, fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { z } from "zod";
import { BMC } from "../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { Diagnostic } from "../../worker/features/pbnj/api/gen/diagnostic_pb.ts";
import { Machine } from "../../worker/features/pbnj/api/gen/machine_pb.ts";
import { Task } from "../../worker/features/pbnj/api/gen/task_pb.ts";

export const PBNJ_SERVICES: readonly DescService[] = [Machine, BMC, Diagnostic, Task];
const PACKAGE = "github.com.tinkerbell.pbnj.api.v1";
const UNTIL_MS = 60_000;
/** grpcurl exits with this and the code of a failed call. */
const GRPCURL_EXIT = 64;

type PbnjAnswer = { readonly message: JsonValue } | { readonly code: string; readonly reason: string };
/** Calls a method by service and name, with its request as JSON. */
export type CallPbnj = (method: string, request: JsonObject) => Promise<PbnjAnswer>;

const Accepted = z.object({ taskId: z.string() });
const Status = z.object({
  description: z.string(),
  state: z.enum(["running", "complete"]),
  result: z.string().default(""),
  complete: z.boolean().default(false),
  messages: z.array(z.string()).default([]),
});

/** With the descriptors that the server reflects. */
export function grpcurlCaller(grpcurl: string, address: string): CallPbnj {
  return async (method, request) => {
    const argv = ["-plaintext", "-d", JSON.stringify(request), address, `${PACKAGE}.${method}`];
    try {
      const { stdout } = await promisify(execFile)(grpcurl, argv, { maxBuffer: 1 << 24 });
      return { message: JSON.parse(stdout) };
    } catch (thrown) {
      const failed = z.object({ code: z.number(), stderr: z.string() }).parse(thrown);
      return { code: Code[failed.code - GRPCURL_EXIT] ?? "", reason: failed.stderr };
    }
  };
}

export function clientCaller(transport: Transport): CallPbnj {
  const clients = new Map(PBNJ_SERVICES.map((service) => [service.name, createClient(service, transport)]));
  const methods = PBNJ_SERVICES.flatMap(({ methods }) => methods);
  return async (path, request) => {
    const method = methods.find(({ parent, name }) => path === `${parent.name}/${name}`);
    const call = clients.get(path.split("/", 1)[0] ?? "")?.[method?.localName ?? ""];
    if (!method || !call) throw new Error(`there is no method ${path}`);
    try {
      // Every method of these services is unary.
      const answer = await (call as (message: unknown) => Promise<never>)(fromJson(method.input, request));
      return { message: toJson(method.output, answer) };
    } catch (thrown) {
      const { code, rawMessage } = ConnectError.from(thrown);
      return { code: Code[code], reason: rawMessage };
    }
  };
}

/** The answer of the call, or of its task once that has ended. */
export async function callToEnd(call: CallPbnj, method: string, request: JsonObject) {
  const answer = await call(method, request);
  const task = "message" in answer ? Accepted.safeParse(answer.message) : undefined;
  if (!task?.success) return answer;
  const giveUpAt = performance.now() + UNTIL_MS;
  for (;;) {
    const status = await call("Task/Status", task.data);
    if ("code" in status) return status;
    const seen = Status.parse(status.message);
    if (seen.complete) return { task: seen };
    if (performance.now() > giveUpAt) throw new Error(`${method} is ${JSON.stringify(seen)}`);
    await sleep(50);
  }
}
