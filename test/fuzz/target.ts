/** One parser or decoder of text or bytes that strangers write. */
export interface Target {
  readonly name: string;
  /** Well-formed inputs; runs start from them. Bytes are written as Latin-1 text. */
  readonly seeds: readonly string[];
  /** Words of the grammar: inserted by runs, and repeated by the growth check. Every character is one as well. */
  readonly tokens?: readonly string[];
  /** Texts around the repeated text in the growth check, such as the beginning of a header. Empty text is always one of them. */
  readonly around?: readonly (readonly [before: string, after: string])[];
  /** The longest input that reaches the parser, in characters; 128 KiB when absent. */
  readonly longest?: number;
  /** Calls the parser. What it throws must be of `throws`; what it gives must hold for `holds`. */
  call(input: string): unknown;
  /** The parser's own kind of error; without it, it throws nothing. */
  readonly throws?: (thrown: unknown) => boolean;
  /** What else must be true of a result; throws when it is not. */
  holds?(result: unknown, input: string): void;
}

/** The bytes of an input in Latin-1. */
export function bytesOf(input: string): Buffer {
  return Buffer.from(input, "latin1");
}

/** Bytes as the Latin-1 text that inputs are. */
export function latin(bytes: Iterable<number>): string {
  return Buffer.from([...bytes]).toString("latin1");
}
