import { oneLine } from "../../shared/contract/result.ts";

/** A problem at an offset of the source text. */
export interface SourceProblem {
  readonly offset: number;
  readonly message: string;
}

export interface Substitution {
  readonly text: string;
  readonly problems: readonly SourceProblem[];
  /** Where in the source a position of `text` comes from; what was substituted comes from its braces. */
  sourceOffset(offset: number): number;
}

interface Piece {
  readonly start: number;
  readonly source: number;
  readonly literal: boolean;
}

const SPACE = " \\t\\r\\n";
const TRIMS_BEFORE = new RegExp(`^-[${SPACE}]`);
const TRIMS_AFTER = new RegExp(`[${SPACE}]-$`);
const TRAILING_SPACE = new RegExp(`[${SPACE}]+$`);
const LEADING_SPACE = new RegExp(`[${SPACE}]*`, "y");
const PLAIN_KEY = new RegExp(`^[${SPACE}]*\\.([\\p{L}_][\\p{L}\\p{Nd}_]*)[${SPACE}]*$`, "u");

/** Takes the place of what could not be rendered, so that the rest can be checked: a name, an image and a number. */
const STAND_IN = "0";

/**
 * Puts values in the place of `{{ .key }}`, with Go's trim markers (`{{- .key -}}`). Anything else between
 * braces is a problem, as is a key without a value: functions and conditions are the controller's.
 */
export function substitute(source: string, values: Readonly<Record<string, string>>): Substitution {
  const pieces: Piece[] = [];
  const problems: SourceProblem[] = [];
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
    const before = source.slice(at, open);
    append(TRIMS_BEFORE.test(inner) ? before.replace(TRAILING_SPACE, "") : before, at, true);
    const value = rendered(inner.replace(TRIMS_BEFORE, "").replace(TRIMS_AFTER, ""), values);
    if ("problem" in value) problems.push({ offset: open, message: value.problem });
    append("problem" in value ? STAND_IN : value.text, open, false);
    at = close + 2;
    if (TRIMS_AFTER.test(inner)) at += spaceAt(source, at);
  }
  return { text, problems, sourceOffset: (offset) => sourceOffset(pieces, offset) };
}

function rendered(
  body: string,
  values: Readonly<Record<string, string>>,
): { readonly text: string } | { readonly problem: string } {
  const key = PLAIN_KEY.exec(body)?.[1];
  if (key === undefined) {
    return { problem: `only {{ .key }} is rendered here, not {{${abbreviated(body)}}}` };
  }
  const text = Object.hasOwn(values, key) ? values[key] : undefined;
  return text === undefined ? { problem: `no value for ${key}` } : { text };
}

function abbreviated(body: string): string {
  const line = oneLine(body);
  return line.length <= 40 ? ` ${line} ` : ` ${line.slice(0, 40)}… `;
}

function spaceAt(source: string, at: number): number {
  LEADING_SPACE.lastIndex = at;
  return LEADING_SPACE.exec(source)?.[0].length ?? 0;
}

function sourceOffset(pieces: readonly Piece[], offset: number): number {
  const piece = pieces.findLast(({ start }) => start <= offset);
  if (piece === undefined) return 0;
  return piece.literal ? piece.source + (offset - piece.start) : piece.source;
}
