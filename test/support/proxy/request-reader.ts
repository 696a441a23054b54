/** One HTTP/1.1 request as it passed by. */
export interface PassedRequest {
  readonly method: string;
  readonly path: string;
  /** Head and body as they came. */
  readonly bytes: Buffer;
}

const HEAD_END = "\r\n\r\n";

/**
 * Cuts a byte stream into HTTP/1.1 requests (RFC 9112 section 6): by Content-Length, for that is what this
 * project's clients send. Throws on a chunked body, which it would cut wrongly.
 */
export class RequestReader {
  #waiting = Buffer.alloc(0);

  /** The requests that these bytes complete, in order. */
  read(chunk: Buffer): PassedRequest[] {
    this.#waiting = Buffer.concat([this.#waiting, chunk]);
    const complete: PassedRequest[] = [];
    for (let next = this.#take(); next; next = this.#take()) complete.push(next);
    return complete;
  }

  #take(): PassedRequest | undefined {
    const headLength = this.#waiting.indexOf(HEAD_END);
    if (headLength === -1) return undefined;
    const head = this.#waiting.subarray(0, headLength).toString("latin1");
    const [requestLine = "", ...fields] = head.split("\r\n");
    const length = headLength + HEAD_END.length + bodyLength(fields);
    if (this.#waiting.length < length) return undefined;
    const bytes = this.#waiting.subarray(0, length);
    this.#waiting = this.#waiting.subarray(length);
    const [method = "", path = ""] = requestLine.split(" ");
    return { method, path, bytes };
  }
}

function bodyLength(fields: readonly string[]): number {
  const valueOfField = (name: string) =>
    fields.find((field) => field.toLowerCase().startsWith(`${name}:`))?.slice(name.length + 1);
  if (valueOfField("transfer-encoding") !== undefined) throw new Error("a chunked request cannot be counted");
  return Number(valueOfField("content-length") ?? 0);
}
