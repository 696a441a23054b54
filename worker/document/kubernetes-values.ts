import { z } from "zod";

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;
const QUALIFIED_NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;

/** A namespace: an RFC 1123 label. */
export const NamespaceName = z
  .string()
  .trim()
  .max(63)
  .regex(DNS_LABEL, { error: "must be a namespace, such as tink-system" });

/** A namespace, or `*` for all. */
export const WatchNamespace = z.union([z.literal("*"), NamespaceName]);

/** The name of most objects: an RFC 1123 subdomain. */
export const ObjectNameText = z
  .string()
  .trim()
  .max(253)
  .regex(DNS_SUBDOMAIN, { error: "must be the name of an object: lower-case letters, digits, - and ." });

/** A name that is short enough for a prefix of Lease names and for a label value. */
export const GroupName = z
  .string()
  .trim()
  .max(40)
  .regex(DNS_LABEL, { error: "must be a name of lower-case letters, digits and -, 40 at most" });

export interface Pair {
  readonly name: string;
  readonly value: string;
}

/** Whether the text is a label's key: an optional DNS subdomain before a slash, and a name. */
function isQualifiedName(text: string): boolean {
  const [name = "", prefix, ...more] = text.split("/").toReversed();
  if (more.length > 0 || !QUALIFIED_NAME.test(name)) return false;
  return prefix === undefined || (prefix.length <= 253 && DNS_SUBDOMAIN.test(prefix));
}

function pair(isValue: (value: string) => boolean, error: string) {
  return z
    .string()
    .trim()
    .transform((text, context): Pair => {
      const equals = text.indexOf("=");
      const name = text.slice(0, Math.max(equals, 0));
      const value = text.slice(equals + 1);
      if (equals <= 0 || !isQualifiedName(name) || !isValue(value)) {
        context.addIssue({ code: "custom", message: error, input: text });
        return z.NEVER;
      }
      return { name, value };
    });
}

/** A label as `name=value`. */
export const LabelPair = pair(
  (value) => LABEL_VALUE.test(value),
  "must be a label, name=value, as in kubernetes.io/arch=amd64",
);

/** An annotation as `name=value`, with any value. */
export const AnnotationPair = pair(() => true, "must be an annotation, name=value");

const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

/** An entry of a pod's `tolerations`. */
export interface PodToleration {
  readonly key: string;
  readonly operator: "Equal" | "Exists";
  readonly value?: string | undefined;
  /** Absent for every effect. */
  readonly effect?: (typeof EFFECTS)[number] | undefined;
}

/** `key[=value][:effect]`, as kubectl writes taints. */
export const Toleration = z
  .string()
  .trim()
  .transform((text, context): PodToleration => {
    const [what = "", effectText, ...more] = text.split(":");
    const [key = "", ...values] = what.split("=");
    const value = values.length === 0 ? undefined : values.join("=");
    const effect = EFFECTS.find((known) => known === effectText);
    const wrongEffect = effectText !== undefined && effect === undefined;
    if (more.length > 0 || wrongEffect || !isQualifiedName(key) || !LABEL_VALUE.test(value ?? "")) {
      const message = `must be key, key=value or either with :effect, which is one of ${EFFECTS.join(", ")}`;
      context.addIssue({ code: "custom", message, input: text });
      return z.NEVER;
    }
    return { key, operator: value === undefined ? "Exists" : "Equal", value, effect };
  });
