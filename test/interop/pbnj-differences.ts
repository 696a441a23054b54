import type { JsonObject } from "@bufbuild/protobuf";
import { type CallPbnj, callToEnd } from "./pbnj-caller.ts";

/** A request, and how it ends: the result of its task, or the code of an error. */
interface Compared {
  readonly method: string;
  readonly request: JsonObject;
  readonly pbnj: string;
  readonly worker: string;
}

/** What docs/how-to/from-pbnj.md compares, at a machine that is on. */
export function comparedRequests(authn: JsonObject, wrongPassword: JsonObject): readonly Compared[] {
  const compared = (method: string, request: JsonObject, pbnj: string, worker = pbnj): Compared => ({
    method,
    request,
    pbnj,
    worker,
  });
  const power = (powerAction: number, ...ends: readonly [string, string?]) =>
    compared("Machine/Power", { authn, powerAction }, ...ends);
  return [
    power(6, "Chassis Power is on\n", "on"),
    power(2, "power POWER_ACTION_OFF complete"),
    power(6, "Chassis Power is off\n", "off"),
    power(4, "power POWER_ACTION_CYCLE complete"),
    compared("Machine/BootDevice", { authn, bootDevice: 6 }, ""),
    compared("Machine/BootDevice", { bootDevice: 6 }, "Unauthenticated"),
    compared("Machine/BootDevice", { authn: wrongPassword, bootDevice: 6 }, "PermissionDenied"),
    compared("Machine/Power", { authn: wrongPassword, powerAction: 6 }, "Unknown", "PermissionDenied"),
    power(0, "InvalidArgument"),
    power(99, "InvalidArgument"),
    compared("Machine/Power", { authn, powerAction: 6, softTimeout: -1 }, "InvalidArgument"),
    compared("BMC/DeleteUser", { authn }, "InvalidArgument"),
    compared("BMC/DeleteUser", { authn, username: "mallory" }, "Unknown", ""),
    compared("BMC/NetworkSource", { authn, networkSource: 1 }, "Unknown", "Unimplemented"),
    compared("Diagnostic/SendNMI", {}, "Unknown", "Unauthenticated"),
    compared("Task/Status", {}, "InvalidArgument"),
    compared("Task/Status", { taskId: "c00000000000000000g0" }, "NotFound"),
  ];
}

/** How a request ends, in one word. */
export async function endOf(call: CallPbnj, { method, request }: Compared): Promise<string> {
  const answer = await callToEnd(call, method, request);
  if ("code" in answer) return answer.code;
  return "task" in answer ? answer.task.result : "";
}
