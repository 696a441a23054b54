import type { Duplex } from "node:stream";
import type { OutputOptions } from "../../core/ports/runtime.ts";
import { LogStream } from "../log-stream.ts";
import type { Engine, LogsSelection } from "./engine.ts";
import { MultiplexedStreamReader } from "./multiplexed-stream.ts";

/**
 * Collects what a container writes, from the attached connection or the engine's log. Every source starts at the
 * container's first byte and known bytes are skipped, so that another source can take over without losing or
 * repeating a line.
 */
export class ContainerOutput {
  readonly log: LogStream;
  readonly #taken = { stdout: 0, stderr: 0 };

  constructor(terms: OutputOptions) {
    this.log = new LogStream(terms);
  }

  /** Resolves when the connection ends or fails. */
  async readAttachment(attachment: Duplex): Promise<void> {
    const reader = this.#newReader();
    try {
      for await (const chunk of attachment) {
        await this.log.throttle.read(chunk, (part) => reader.push(part));
      }
    } catch {
      // The rest is read from the engine's log.
    } finally {
      attachment.destroy();
    }
  }

  async readLogs(engine: Engine, id: string, selection: LogsSelection, signal: AbortSignal): Promise<void> {
    const reader =
      selection.tail === undefined
        ? this.#newReader()
        : new MultiplexedStreamReader((stream, payload) => this.log.write(stream, payload));
    const take = (chunk: Uint8Array) => this.log.throttle.read(chunk, (part) => reader.push(part));
    await engine.readLogs(id, selection, take, signal);
  }

  #newReader(): MultiplexedStreamReader {
    const seen = { stdout: 0, stderr: 0 };
    return new MultiplexedStreamReader((stream, payload) => {
      const known = Math.min(Math.max(this.#taken[stream] - seen[stream], 0), payload.length);
      seen[stream] += payload.length;
      this.#taken[stream] += payload.length - known;
      if (known < payload.length) this.log.write(stream, payload.subarray(known));
    });
  }
}
