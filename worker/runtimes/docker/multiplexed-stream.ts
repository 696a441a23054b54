import type { LogLine } from "../../core/action/action.ts";

/** Engine API, "Stream format": a frame has 8 bytes of header (stream, 3 × 0, size as uint32 BE), then its payload. */
const HEADER_BYTES = 8;

type OnPayload = (stream: LogLine["stream"], payload: Uint8Array) => void;

/**
 * Splits the engine's stream into stdout and stderr. Payload is passed on as it arrives, so a frame of any size needs
 * no memory. Throws on malformed frames.
 */
export class MultiplexedStreamReader {
  readonly #onPayload: OnPayload;
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerBytes = 0;
  #stream: LogLine["stream"] = "stdout";
  #remaining = 0;

  constructor(onPayload: OnPayload) {
    this.#onPayload = onPayload;
  }

  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#remaining > 0) {
        const payload = chunk.subarray(at, at + this.#remaining);
        at += payload.length;
        this.#remaining -= payload.length;
        this.#onPayload(this.#stream, payload);
      } else {
        const part = chunk.subarray(at, at + HEADER_BYTES - this.#headerBytes);
        this.#header.set(part, this.#headerBytes);
        at += part.length;
        this.#headerBytes += part.length;
        if (this.#headerBytes === HEADER_BYTES) this.#readHeader();
      }
    }
  }

  #readHeader(): void {
    const type = this.#header[0];
    const zeros = this.#header.readUIntBE(1, 3);
    if ((type !== 1 && type !== 2) || zeros !== 0) {
      throw new Error(`malformed frame header ${this.#header.toString("hex")} in a container's output`);
    }
    this.#stream = type === 1 ? "stdout" : "stderr";
    this.#remaining = this.#header.readUInt32BE(4);
    this.#headerBytes = 0;
  }
}
