import { foldLine } from "../../../../contract/result.ts";
import { textOf } from "../../../../text-of.ts";

type Headers = Readonly<Record<string, string>>;

/** A body as JSON, or the reason why it is not JSON. If both are undefined, there was no body. */
export interface DecodedBody {
  readonly value?: unknown;
  readonly problem?: string;
  /** The body of an answer with a problem, if it is text. */
  readonly text?: string;
}

/** Reads an answer's body as JSON. Decompresses it, because some BMCs send nothing else. */
export async function decodeBody(bytes: Buffer, headers: Headers, maxBytes: number): Promise<DecodedBody> {
  if (bytes.length === 0) return {};
  const type = headers["content-type"];
  const isJson = type === undefined || /^application\/([\w.-]+\+)?json\b/i.test(type.trim());
  if (!isJson && !/^(text|application\/xhtml)\b/i.test(type.trim())) {
    return { problem: `${type} instead of JSON` };
  }
  let text: string | undefined;
  try {
    const plain = await decompress(bytes, headers["content-encoding"], maxBytes);
    text = plain.toString("utf8");
    if (isJson) return { value: JSON.parse(text) };
    return { problem: `${type} instead of JSON`, ...asText(text) };
  } catch (error) {
    const problem = isJson
      ? `a body that is not JSON (${foldLine(textOf(error))})`
      : `${type} instead of JSON`;
    return { problem, ...(text === undefined ? {} : asText(text)) };
  }
}

/** Returns the text only if it is useful to people, unlike binary data and truncated JSON. */
function asText(text: string): Pick<DecodedBody, "text"> {
  return /(?!\s)\p{Cc}|\ufffd|^\s*[[{"]/u.test(text) ? {} : { text };
}

async function decompress(bytes: Buffer, encoding: string | undefined, maxBytes: number): Promise<Buffer> {
  const name = encoding?.trim().toLowerCase() ?? "identity";
  if (name === "" || name === "identity") return bytes;
  if (name !== "gzip" && name !== "x-gzip") throw new Error(`encoding ${name} was not asked for`);
  // Loaded only if a BMC compresses without being asked.
  const { gunzipSync } = await import("node:zlib");
  return gunzipSync(bytes, { maxOutputLength: maxBytes });
}
