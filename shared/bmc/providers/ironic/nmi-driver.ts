import type { NmiDriver } from "../../operations/nmi.ts";
import type { IronicRequest } from "./api.ts";
import { describeRequest } from "./fault.ts";
import type { IronicNode } from "./node.ts";

/** Whether the node's driver has it shows only when it is sent. */
export function ironicNmi(node: IronicNode): NmiDriver {
  const request: IronicRequest = {
    method: "PUT",
    path: node.path("/management/inject_nmi"),
    body: {},
    effect: "command",
  };
  return {
    offered: async () => undefined,
    async plan(signal) {
      await node.permit(signal);
      return describeRequest(request);
    },
    async send(signal) {
      await node.permit(signal);
      await node.api.call(request, signal);
    },
  };
}
