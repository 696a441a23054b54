import { constants, inflateRawSync } from "node:zlib";

/** Every form that the worker promises to find in what an action prints. */
const promised: Readonly<Record<string, (secret: string) => readonly string[]>> = {
  plain: (secret) => [secret],
  JSON: (secret) => [JSON.stringify(secret).slice(1, -1)],
  "HTML entities": (secret) => [
    secret.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
    secret.replaceAll("&", "&#38;").replaceAll('"', "&#34;"),
    secret.replaceAll("&", "&#x26;").replaceAll('"', "&#x22;"),
  ],
  "percent-encoding": (secret) => [percentEncoded(secret), percentEncoded(secret).replace(/%../g, lower)],
  base64: (secret) => [base64(secret), base64(secret).replaceAll("+", "-").replaceAll("/", "_")],
  hexadecimal: (secret) => [hex(secret), hex(secret).toUpperCase()],
};

const SEPARATORS = [":", "-", " ", ", "];

/** What else a program may do to a secret before it prints it. Only what never had the secret cannot print these. */
const others: typeof promised = {
  reversed: (secret) => [reversed(secret), reversed(base64(secret)), reversed(hex(secret))],
  "every other character": (secret) => [
    [...secret].join(" "),
    [...secret].join("\\n"),
    [...secret].join("\0"),
  ],
  "character codes": (secret) => [[...Buffer.from(secret)].join(), [...Buffer.from(secret)].join(" ")],
  "base64 inside of other text": (secret) =>
    [secret, ...(promised["JSON"]?.(secret) ?? [])].flatMap((text) =>
      [0, 1, 2].map((offset) => base64After(text, offset)),
    ),
  "hexadecimal, byte by byte": (secret) =>
    ["", "0x", "\\x", "=", "%"].flatMap((prefix) => bytesInHex(secret, prefix)),
  "base64 of base64": (secret) => [0, 1, 2].map((offset) => base64After(base64(secret), offset)),
  "percent-encoding, twice": (secret) => [percentEncoded(percentEncoded(secret))],
  "capital or small letters": (secret) => [secret.toUpperCase(), secret.toLowerCase()],
  rot13: (secret) => [secret.replace(/[a-z]/gi, rot13)],
};

const percentEncoded = (text: string) => encodeURIComponent(text);
const lower = (text: string) => text.toLowerCase();
const base64 = (text: string) => Buffer.from(text).toString("base64").replace(/=+$/, "");
const hex = (text: string) => Buffer.from(text).toString("hex");
/** `prefix` before each byte, in both cases, with each separator or none between the bytes. */
function bytesInHex(text: string, prefix: string): readonly string[] {
  const bytes = [...Buffer.from(text)].map((byte) => byte.toString(16).padStart(2, "0"));
  return [...SEPARATORS, ""].flatMap((between) => {
    if (prefix + between === "") return [];
    return [bytes, bytes.map((byte) => byte.toUpperCase())].map((all) =>
      all.map((byte) => prefix + byte).join(between),
    );
  });
}
const reversed = (text: string) => [...text].toReversed().join("");
const rot13 = (letter: string) => {
  const base = letter <= "Z" ? 65 : 97;
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
};
/** What stays the same of it whatever is before and after. */
function base64After(secret: string, offset: number): string {
  const skipped = Math.ceil((offset * 4) / 3);
  return base64(`${"x".repeat(offset)}${secret}`).slice(skipped, -2);
}

interface Compression {
  readonly form: string;
  /** What its streams begin with, and how these bytes begin in base64. */
  readonly starts: readonly (readonly number[])[];
  readonly base64: RegExp;
  /** Before the compressed data. Checksums after it are not looked at, so that other bytes may follow. */
  readonly headerBytes: (stream: Buffer) => number;
}

const GZIP_HAS_NAME = 8;
const COMPRESSIONS: readonly Compression[] = [
  {
    ...{ form: "gzip", starts: [[0x1f, 0x8b, 8]], base64: /H4sI[\w+/-]+/g },
    headerBytes: (stream) => (stream[3] === GZIP_HAS_NAME ? stream.indexOf(0, 10) + 1 : 10),
  },
  {
    ...{ form: "zlib", base64: /eJ[\w+/-]{8,}/g, headerBytes: () => 2 },
    starts: [0x01, 0x5e, 0x9c, 0xda].map((level) => [0x78, level]),
  },
];
const MOST_UNPACKED_BYTES = 64 * 1024 * 1024;

/** The texts of the compressed streams in bytes, and in the base64 of a text. A stream that is cut yields its beginning. */
function unpacked(content: string | Buffer, { starts, base64, headerBytes }: Compression): readonly string[] {
  const streams = Buffer.isBuffer(content)
    ? starts.flatMap((start) => indexesOf(content, Buffer.from(start)).map((at) => content.subarray(at)))
    : [];
  const encoded =
    content
      .toString()
      .replace(/\s+|\\n/g, "")
      .match(base64) ?? [];
  return [...streams, ...encoded.map((text) => Buffer.from(text, "base64"))].flatMap((stream) => {
    try {
      const options = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MOST_UNPACKED_BYTES };
      return [inflateRawSync(stream.subarray(headerBytes(stream)), options).toString()];
    } catch {
      return [];
    }
  });
}

function indexesOf(content: Buffer, start: Buffer): readonly number[] {
  const found: number[] = [];
  for (let at = content.indexOf(start); at >= 0; at = content.indexOf(start, at + 1)) found.push(at);
  return found;
}

/** Looks for a secret in texts and bytes, in many forms, also compressed, and where white space was put in between. */
export class SecretSearch {
  readonly #traces: readonly (readonly [form: string, trace: string])[];

  constructor(secret: string) {
    this.#traces = Object.entries({ ...promised, ...others }).flatMap(([form, write]) =>
      write(secret).map((trace) => [form, trace] as const),
    );
  }

  /** The forms that are there. */
  in(content: string | Buffer): readonly string[] {
    const text = content.toString();
    const packed = COMPRESSIONS.flatMap((compression) =>
      unpacked(content, compression)
        .flatMap((inner) => this.#inText(inner))
        .map((form) => `${compression.form}, ${form}`),
    );
    return [...new Set([...this.#inText(text), ...packed])];
  }

  #inText(text: string): readonly string[] {
    const dense = text.replace(/\s+|\\n/g, "");
    return this.#traces
      .filter(([, trace]) => text.includes(trace) || dense.includes(trace))
      .map(([form]) => form);
  }
}
