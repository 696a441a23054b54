import * as z from "zod";

/** Text by key, as in `metadata.labels` of a Kubernetes object. */
export type Labels = Readonly<Record<string, string>>;

const NAME = "[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?";
const PREFIX = "[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?";
const KEY = new RegExp(`^(?:${PREFIX}/)?${NAME}$`);
const VALUE = new RegExp(`^(?:${NAME})?$`);

const KEY_PROBLEM = "must be the key of a label, such as rack or example.org/rack";
const MOST_LABELS = 64;
const LONGEST_SELECTOR = 1_000;

/** The key of a label (Kubernetes, "Labels and Selectors", syntax and character set). */
export const LabelKey = z.string().regex(KEY, { error: KEY_PROBLEM });

/** The labels of one machine. A value that YAML reads as a number or a truth value needs quotes. */
export const MachineLabels = z
  .record(
    z.string(),
    z
      .string({ error: 'must be text, in quotes if it looks like a number, such as "12"' })
      .regex(VALUE, { error: "must have at most 63 letters, digits, -, _ and ., such as r12" }),
  )
  .superRefine((labels, context) => {
    for (const key of Object.keys(labels)) {
      if (!KEY.test(key)) context.addIssue({ code: "custom", message: KEY_PROBLEM, path: [key] });
    }
  })
  .refine((labels) => Object.keys(labels).length <= MOST_LABELS, {
    error: `must have at most ${MOST_LABELS} labels`,
  });

interface Requirement {
  readonly key: string;
  /** The values of `in` and `=`, or of `notin` and `!=`; undefined asks whether the label is there. */
  readonly values: ReadonlySet<string> | undefined;
  readonly negated: boolean;
}

const SET = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const EQUAL = /^([^=!\s]+)\s*(==?|!=)\s*(\S*)$/;
const PRESENT = /^(!?)\s*([^=!\s]+)$/;

/**
 * A label selector in kubectl's syntax: `rack=r12,role!=spare,row in (a,b),!broken`. A machine matches if every requirement holds;
 * `!=` and `notin` also hold without the label (Kubernetes, "Labels and Selectors").
 */
export class Selector {
  readonly text: string;
  readonly #requirements: readonly Requirement[];

  private constructor(text: string, requirements: readonly Requirement[]) {
    this.text = text;
    this.#requirements = requirements;
  }

  /** Undefined for a text that is no selector, and for an empty one, which would match every machine. */
  static parse(text: string): Selector | undefined {
    if (text.length > LONGEST_SELECTOR) return undefined;
    const requirements = partsOf(text).map(requirementIn);
    if (!requirements.every((one) => one !== undefined)) return undefined;
    return new Selector(text, requirements);
  }

  matches(labels: Labels = {}): boolean {
    return this.#requirements.every(({ key, values, negated }) => {
      const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
      return (value !== undefined && (values?.has(value) ?? true)) !== negated;
    });
  }
}

/** Splits at commas that are not within parentheses. */
function partsOf(text: string): readonly string[] {
  const parts = [""];
  let isInside = false;
  for (const character of text) {
    if (character === "(") isInside = true;
    if (character === ")") isInside = false;
    if (character === "," && !isInside) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}

function requirementIn(part: string): Requirement | undefined {
  const set = SET.exec(part);
  const equal = set ? undefined : EQUAL.exec(part);
  const present = set || equal ? undefined : PRESENT.exec(part);
  const [, key = "", operator = "", list = ""] = set ?? equal ?? [];
  const made: Requirement = present
    ? { key: present[2] ?? "", values: undefined, negated: present[1] === "!" }
    : {
        key,
        values: new Set(set ? list.split(",").map((value) => value.trim()) : [list]),
        negated: operator === "!=" || operator === "notin",
      };
  const isValid = KEY.test(made.key) && [...(made.values ?? [])].every((value) => VALUE.test(value));
  return isValid ? made : undefined;
}

export const SELECTOR_SYNTAX = "must be a selector such as rack=r12,role!=spare or row in (a,b)";

/** A selector in a file. */
export const LabelSelector = z.string().transform((text, context): Selector => {
  const selector = Selector.parse(text);
  if (selector) return selector;
  context.addIssue({ code: "custom", message: SELECTOR_SYNTAX, input: text });
  return z.NEVER;
});

/** A machine as rules see it; one that is not in the inventory has no labels. */
export interface LabelledMachine {
  readonly name: string;
  readonly labels?: Labels | undefined;
}
