import { textOf } from "../../../../text-of.ts";

type Headers = Readonly<Record<string, string>>;

/** A body as JSON, or why it is none. Both undefined: there was no body. */
export interface DecodedBody {
  readonly value?: unknown;
  readonly problem?: string;
}

/** Reads an answer's body as JSON. Compressed bodies are understood, as some BMCs send nothing else. */
export async function decodeBody(bytes: Buffer, headers: Headers, maxBytes: number): Promise<DecodedBody> {
  if (bytes.length === 0) return {};
  const type = headers["content-type"];
  if (type !== undefined && !/^application\/([\w.-]+\+)?json\b/i.test(type.trim())) {
    return { problem: `${type} instead of JSON` };
  }
  try {
    const plain = await decompress(bytes, headers["content-encoding"], maxBytes);
    return { value: JSON.parse(plain.toString("utf8")) };
  } catch (error) {
    return { problem: `a body that is not JSON (${textOf(error)})` };
  }
}

async function decompress(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? "identity";
  if (name === "" || name === "identity") return bytes;
  if (name !== "gzip" && name !== "x-gzip") throw new Error(`encoding ${name} was not asked for`);
  // Loaded only where a BMC compresses unasked.
  const { gunzipSync } = await import("node:zlib");
  return gunzipSync(bytes, { maxOutputLength: maxBytes });
}
