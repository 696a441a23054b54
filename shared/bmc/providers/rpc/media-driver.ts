import type { MediaDriver, MediaImage } from "../../operations/media.ts";
import type { RpcConsumer } from "./consumer.ts";

/** Virtual media through the consumer's `setVirtualMedia`; as in Rufio, an empty URL ejects. */
export class RpcMedia implements MediaDriver {
  readonly #consumer: RpcConsumer;

  constructor(consumer: RpcConsumer) {
    this.#consumer = consumer;
  }

  async read(): Promise<undefined> {
    return undefined;
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
