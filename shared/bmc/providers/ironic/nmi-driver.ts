import type { NmiDriver } from "../../operations/nmi.ts";
import { describeRequest, type IronicRequest } from "./api.ts";
import type { IronicNode } from "./node.ts";

/** Sends an NMI. Whether the node's driver supports it is only known after sending it. */
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
