import { oneLine } from "../../shared/contract/result.ts";
import { suggestion } from "../../shared/nearest-name.ts";

/** A problem at an offset of the source text. */
export interface SourceProblem {
  readonly offset: number;
  readonly message: string;
}

export interface Substitution {
  readonly text: string;
  readonly problems: readonly SourceProblem[];
  /** The keys that the source names, whether they have a value or not. */
  readonly keys: ReadonlySet<string>;
  /** The offset in the source for an offset of `text`; for substituted text, that of its braces. */
  sourceOffset(offset: number): number;
}

interface Piece {
  readonly start: number;
  readonly source: number;
  readonly literal: boolean;
}

const SPACE = " \t\r\n";
const TRIMS_BEFORE = new RegExp(`^-[${SPACE}]`);
const TRIMS_AFTER = new RegExp(`[${SPACE}]-$`);
const PLAIN_KEY = new RegExp(`^[${SPACE}]*\\.([\\p{L}_][\\p{L}\\p{Nd}_]*)[${SPACE}]*$`, "u");

/** The limit for Kubernetes objects, which templates are. */
export const LONGEST_TEMPLATE = 1_536 * 1_024;

/** Replaces what could not be rendered, so that the rest can be checked: valid as a name, an image and a number. */
const STAND_IN = "0";

/**
 * Replaces `{{ .key }}` with its value, with Go's trim markers (`{{- .key -}}`). Anything else between braces is a problem,
 * as is a key without a value: only the controller has functions and conditions.
 */
export function substitute(source: string, values: Readonly<Record<string, string>>): Substitution {
  const pieces: Piece[] = [];
  const problems: SourceProblem[] = [];
  const keys = new Set<string>();
  let text = "";
  const append = (piece: string, from: number, literal: boolean) => {
    pieces.push({ start: text.length, source: from, literal });
    text += piece;
  };

  let at = 0;
  while (at < source.length) {
    const open = source.indexOf("{{", at);
    const close = open < 0 ? -1 : source.indexOf("}}", open + 2);
    if (close < 0) {
      if (open >= 0) problems.push({ offset: open, message: "{{ without }}" });
      append(source.slice(at), at, true);
      break;
    }
    const inner = source.slice(open + 2, close);
    append(source.slice(at, TRIMS_BEFORE.test(inner) ? spaceBefore(source, open, at) : open), at, true);
    const value = rendered(inner.replace(TRIMS_BEFORE, "").replace(TRIMS_AFTER, ""), values);
    if (value.key !== undefined) keys.add(value.key);
    if ("problem" in value) problems.push({ offset: open, message: value.problem });
    append("problem" in value ? STAND_IN : value.text, open, false);
    if (text.length > LONGEST_TEMPLATE) {
      problems.push({ offset: open, message: "the rendered template is too large" });
      break;
    }
    at = TRIMS_AFTER.test(inner) ? spaceAfter(source, close + 2) : close + 2;
  }
  return { text, problems, keys, sourceOffset: (offset) => sourceOffset(pieces, offset) };
}

function rendered(
  body: string,
  values: Readonly<Record<string, string>>,
): { readonly key?: string } & ({ readonly text: string } | { readonly problem: string }) {
  const key = PLAIN_KEY.exec(body)?.[1];
  if (key === undefined) {
    return { problem: `only {{ .key }} is rendered here, not {{${abbreviated(body)}}}` };
  }
  const text = Object.hasOwn(values, key) ? values[key] : undefined;
  if (text !== undefined) return { key, text };
  const meant = suggestion(key, Object.keys(values));
  return { key, problem: `no value for ${key}${meant || `: add --map ${key}=<value>`}` };
}

function abbreviated(body: string): string {
  const line = oneLine(body);
  return line.length <= 40 ? ` ${line} ` : ` ${line.slice(0, 40)}… `;
}

/** The start of the white space that ends at `end`, not before `least`. */
function spaceBefore(source: string, end: number, least: number): number {
  let at = end;
  while (at > least && SPACE.includes(source.charAt(at - 1))) at -= 1;
  return at;
}

/** The end of the white space that starts at `start`. */
function spaceAfter(source: string, start: number): number {
  let at = start;
  while (at < source.length && SPACE.includes(source.charAt(at))) at += 1;
  return at;
}

/** Binary search for the last piece at or before `offset`: a template may have 100,000 pieces. */
function sourceOffset(pieces: readonly Piece[], offset: number): number {
  let [low, high] = [0, pieces.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pieces[middle]?.start ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  const piece = pieces[low - 1];
  if (piece === undefined) return 0;
  return piece.literal ? piece.source + (offset - piece.start) : piece.source;
}
