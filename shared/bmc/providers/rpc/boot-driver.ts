import type { BootDriver, BootRequest } from "../../operations/boot.ts";
import type { RpcConsumer } from "./consumer.ts";
import type { RpcCall } from "./request-body.ts";

/** The boot override through the consumer's `setBootDevice`, which has no counterpart that reads. */
export class RpcBoot implements BootDriver {
  readonly #consumer: RpcConsumer;

  constructor(consumer: RpcConsumer) {
    this.#consumer = consumer;
  }

  async read(): Promise<undefined> {
    return undefined;
  }

  async plan(request: BootRequest): Promise<string> {
    return `setBootDevice ${JSON.stringify(paramsOf(request))}`;
  }

  async write(request: BootRequest, signal: AbortSignal): Promise<void> {
    await this.#consumer.tell({ method: "setBootDevice", params: paramsOf(request) }, signal);
  }
}

/** The protocol knows EFI or not; a mode that is to stay as it is goes out as not, which is its default. */
function paramsOf({
  device,
  persistent,
  mode,
}: BootRequest): Extract<RpcCall, { method: "setBootDevice" }>["params"] {
  return { device, persistent, efiBoot: mode === "uefi" };
}
