/** The limits of one input. */
interface Limits {
  /** UTF-16 code units of all texts and names. */
  readonly characters: number;
  /** Values at all levels. */
  readonly values: number;
  readonly levels: number;
  /** UTF-16 code units of one text. */
  readonly text: number;
}

/**
 * Limits of untrusted input, which are checked before it is read. They are far above the size of real input, but low enough
 * that processing takes no noticeable time.
 */
export const INPUT_LIMITS = {
  /** One action of a workflow. Linux starts no program with a longer variable or argument (execve(2), MAX_ARG_STRLEN). */
  action: { characters: 524_288, values: 1_024, levels: 4, text: 131_071 },
  /** The BMC connection of a Machine or Hardware object, whose payload for a webhook may be long. */
  connection: { characters: 65_536, values: 512, levels: 12, text: 32_768 },
  /** The address and the claim's fields of a BareMetalHost or HostClaim. */
  host: { characters: 16_384, values: 256, levels: 8, text: 4_096 },
  /** The annotation with a machine's desired state. */
  desiredState: { characters: 16_384, values: 2_048, levels: 12, text: 4_096 },
  /** The spec of a Rufio Job or Task. */
  rufioSpec: { characters: 262_144, values: 4_096, levels: 16, text: 16_384 },
  /** A policy's file. */
  policy: { characters: 262_144, values: 65_536, levels: 8, text: 65_536 },
  /** A Workflow that is run or judged, from a file or from the cluster. */
  workflow: { characters: 1_572_864, values: 32_768, levels: 8, text: 131_071 },
  /** The configuration of an image: its volumes and variables are compared with those of the action. */
  imageConfig: { characters: 262_144, values: 2_048, levels: 8, text: 65_536 },
  /** The JSON around a webhook's payload. */
  webhookPayload: { characters: 32_768, values: 512, levels: 32, text: 16_384 },
} as const satisfies Readonly<Record<string, Limits>>;

/**
 * Limits in bytes, or characters of text, for one file, answer, message or line. Longer input is rejected or cut. Limits for
 * pages of a collection, certificate chains and similar input are defined next to the code that reads them.
 */
export const INPUT_BYTES = {
  amtAnswer: 512_000,
  homeassistantAnswer: 1_048_576,
  keystoneAnswer: 1_048_576,
  ironicAnswer: 4 * 1_048_576,
  webhookAnswer: 512 * 1_024,
  redfishAnswer: 1_048_576,
  recording: 64 * 1_048_576,
  recordedTree: 8 * 1_048_576,
  engineAnswer: 16 * 1_048_576,
  clusterEvent: 8 * 1_048_576,
  clusterAnswer: 128 * 1_048_576,
  template: 1_536 * 1_024,
  renderedTemplate: 256 * 1_024,
  policy: 256 * 1_024,
  workflowFile: 512 * 1_024,
  actionResult: 4 * 1_048_576,
  actionSpans: 512 * 1_024,
  actionLogLine: 16 * 1_024,
  secret: 4_096,
  configurationFile: 16 * 1_048_576,
  legacyAnswer: 16 * 1_048_576,
  pbnjMessage: 65_536,
  consoleLine: 1_000,
} as const satisfies Readonly<Record<string, number>>;

export type LimitedInput = keyof typeof INPUT_LIMITS;

/** The number of informational answers (RFC 9110 section 15.2) that are read before the final one. */
export const MOST_INFORMATIONAL_ANSWERS = 20;
/** UTF-16 code units of one text in a log line. */
export const LONGEST_LOGGED_TEXT = 4_096;

/** The limit that a value exceeds, as text after the input's name; undefined if none. Stops counting at the first one. */
export function excessOf(value: unknown, input: LimitedInput): string | undefined {
  const most: Limits = INPUT_LIMITS[input];
  let values = 0;
  let characters = 0;
  const open: { readonly value: unknown; readonly level: number }[] = [{ value, level: 1 }];
  const countText = (text: string) => {
    characters += text.length;
    if (text.length > most.text) return `has a text of more than ${most.text} characters`;
    return characters > most.characters ? `has more than ${most.characters} characters` : undefined;
  };
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    values += 1;
    if (values > most.values) return `has more than ${most.values} values`;
    if (typeof next.value === "string") {
      const excess = countText(next.value);
      if (excess !== undefined) return excess;
    }
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.level > most.levels) return `has more than ${most.levels} levels`;
    const isList = Array.isArray(next.value);
    // One at a time, because a list of all entries would itself be unlimited.
    for (const name in next.value) {
      if (values + open.length >= most.values) return `has more than ${most.values} values`;
      const excess = isList ? undefined : countText(name);
      if (excess !== undefined) return excess;
      open.push({ value: (next.value as Readonly<Record<string, unknown>>)[name], level: next.level + 1 });
    }
  }
  return undefined;
}
