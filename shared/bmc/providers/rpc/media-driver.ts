import { BmcError } from "../../../contract/bmc-error.ts";
import type { MediaDriver, MediaImage, MediaState } from "../../provider.ts";
import type { RpcConsumer } from "./consumer.ts";

/** Virtual media through the consumer's `setVirtualMedia`; as in Rufio, an empty URL ejects. */
export class RpcMedia implements MediaDriver {
  readonly unverified = "accepted";
  readonly #consumer: RpcConsumer;

  constructor(consumer: RpcConsumer) {
    this.#consumer = consumer;
  }

  async read(): Promise<MediaState> {
    throw new BmcError("unsupported", "a webhook cannot report inserted media");
  }

  async plan(image: MediaImage | undefined): Promise<string> {
    return `setVirtualMedia ${JSON.stringify(paramsOf(image))}`;
  }

  insert(image: MediaImage, signal: AbortSignal): Promise<void> {
    return this.#consumer.tell({ method: "setVirtualMedia", params: paramsOf(image) }, signal);
  }

  eject(signal: AbortSignal): Promise<void> {
    return this.#consumer.tell({ method: "setVirtualMedia", params: paramsOf(undefined) }, signal);
  }
}

function paramsOf(image: MediaImage | undefined) {
  return { mediaUrl: image?.url ?? "", kind: "CD" };
}
