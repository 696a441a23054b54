import * as z from "zod/mini";
import type { BootMode } from "../../../shared/contract/vocabulary.ts";
import { valueProblems } from "../../../shared/document/issue-problems.ts";
import { excessOf } from "../../../shared/input-limits.ts";
import type { Pause } from "../../core/action/machine-facts.ts";
import type { Labels } from "../../document/labels.ts";
import {
  apiVersionOf,
  KINDS,
  type Kind,
  type ObjectName,
  refersToMachine,
} from "../../kubernetes/client/kinds.ts";
import type { ObjectReference } from "../../kubernetes/events/object-events.ts";
import { connectionLockKey } from "../../machines/lock-key.ts";
import { type ConnectionSource, connectionDocument } from "./connection-document.ts";
import { checkConnection, FINGERPRINT_ANNOTATION } from "./connection-problems.ts";
import { type AnnotatedState, annotatedState } from "./desired-annotation.ts";
import { providerOf } from "./provider-order.ts";
import { HardwareConnection, MachineConnection, type RufioConnection } from "./rufio-connection.ts";

interface Usable extends AnnotatedState {
  readonly kind: "usable";
  readonly source: ConnectionSource;
  readonly lockKey: string;
  /** The object that describes the BMC. */
  readonly object?: ObjectReference | undefined;
  /** Unknown fields, which are ignored. */
  readonly unknown?: readonly string[] | undefined;
  /** The actions that go through the BareMetalHost instead of its BMC: all, or those that read or change the power. */
  readonly viaHost?: "all" | "power";
}

interface Unusable {
  readonly kind: "unusable";
  readonly problems: readonly string[];
}

export type BmcTarget = Usable | Unusable;

/** The reference of a v1alpha1 Hardware to a Machine in its namespace. */
export type MachineReference = { readonly kind: "reference"; readonly machine: string } | Unusable;

export interface Described<Content> {
  readonly name: ObjectName;
  readonly content: Content;
  readonly paused?: Pause | undefined;
  readonly labels?: Labels | undefined;
}

/** Reads an object; undefined for one without a BMC. Never throws. */
export type Describe<Content> = (object: unknown, name: ObjectName) => Described<Content> | undefined;

const Annotations = z.optional(z.record(z.string(), z.string()));
const Metadata = z.object({ annotations: Annotations, uid: z.optional(z.string()) });
type Metadata = z.infer<typeof Metadata>;

const MachineObject = z.object({ metadata: Metadata, spec: z.object({ connection: z.unknown() }) });

const BootModes: Readonly<Record<string, BootMode>> = { UEFI: "uefi", BIOS: "legacy" };
const HardwareObject = z.object({
  metadata: Metadata,
  spec: z.object({
    bmc: z.optional(z.object({ bootMode: z.optional(z.string()), connection: z.optional(z.unknown()) })),
  }),
});

const BmcRef = z.object({
  apiGroup: z.optional(z.nullable(z.string())),
  kind: z.string(),
  name: z.string().check(z.minLength(1)),
});
const HardwareWithReference = z.object({ spec: z.object({ bmcRef: z.optional(z.unknown()) }) });

/** Reads a Machine (`bmc.tinkerbell.org/v1alpha1`). */
export const describeMachine: Describe<BmcTarget> = (object, name) => {
  const parsed = MachineObject.safeParse(object);
  if (!parsed.success) return unusable(name, problemsOf(MachineObject, object, parsed.error.issues));
  const { metadata, spec } = parsed.data;
  const where = "spec.connection";
  const read = readKnown(MachineConnection, spec.connection, where);
  if (read.problems) return unusable(name, read.problems);
  const source = { connection: read.value, fingerprint: fingerprintOf(metadata.annotations) };
  return describe(
    name,
    source,
    read.unknown,
    { where, login: "authSecretRef" },
    metadata,
    KINDS.rufioMachine,
  );
};

/** Reads a Hardware (`tinkerbell.org/v1alpha2`). */
export const describeHardware: Describe<BmcTarget> = (object, name) => {
  const parsed = HardwareObject.safeParse(object);
  if (!parsed.success) return unusable(name, problemsOf(HardwareObject, object, parsed.error.issues));
  const { metadata, spec } = parsed.data;
  if (spec.bmc?.connection === undefined) return undefined;
  const where = "spec.bmc.connection";
  const read = readKnown(HardwareConnection, spec.bmc.connection, where);
  if (read.problems) return unusable(name, read.problems);
  const { credentialsRef, ...connection } = read.value;
  const bootMode = BootModes[spec.bmc.bootMode ?? ""];
  const source = {
    connection: { ...connection, authSecretRef: credentialsRef },
    bootMode,
    fingerprint: fingerprintOf(metadata.annotations),
  };
  return describe(
    name,
    source,
    read.unknown,
    { where, login: "credentialsRef" },
    metadata,
    KINDS.hardwareV1Alpha2,
  );
};

/** Reads a Hardware (`tinkerbell.org/v1alpha1`). Like Tinkerbell, it uses only the Machine's name (`BMCRef.Name`). */
export const describeHardwareReference: Describe<MachineReference> = (object, name) => {
  const parsed = HardwareWithReference.safeParse(object);
  if (!parsed.success) return unusable(name, problemsOf(HardwareWithReference, object, parsed.error.issues));
  const { bmcRef } = parsed.data.spec;
  if (bmcRef === undefined || bmcRef === null) return undefined;
  const reference = BmcRef.safeParse(bmcRef);
  if (!reference.success) {
    return unusable(name, problemsOf(BmcRef, bmcRef, reference.error.issues, "spec.bmcRef"));
  }
  const { apiGroup, kind, name: machine } = reference.data;
  if (!refersToMachine(reference.data)) {
    const other = apiGroup ? `${kind} of ${apiGroup}` : kind;
    return unusable(name, [
      `spec.bmcRef names a ${other}: only a Machine of bmc.tinkerbell.org is understood`,
    ]);
  }
  return { name, content: { kind: "reference", machine } };
};

function describe(
  name: ObjectName,
  source: ConnectionSource,
  unknown: readonly string[],
  fields: { readonly where: string; readonly login: string },
  { annotations, uid }: Metadata,
  kind: Kind,
): Described<BmcTarget> {
  const { problems, connection } = checkConnection(source.connection, connectionDocument(source), fields);
  if (!connection || problems.length > 0) return unusable(name, problems);
  const ignored = [...unknown, ...unknownProviders(source.connection, fields.where)];
  return {
    name,
    content: {
      kind: "usable",
      source,
      lockKey: connectionLockKey(connection, connection.providers),
      unknown: ignored.length > 0 ? ignored : undefined,
      ...annotatedState(annotations),
      object:
        uid === undefined ? undefined : { apiVersion: apiVersionOf(kind), kind: kind.kind, ...name, uid },
    },
  };
}

function unusable(name: ObjectName, problems: readonly string[]): Described<Unusable> {
  return { name, content: { kind: "unusable", problems } };
}

type Read<T> =
  | { readonly value: T; readonly unknown: readonly string[]; readonly problems?: undefined }
  | { readonly problems: readonly string[] };

type Issues = readonly z.core.$ZodIssue[];

/** Parses a value. Reports and ignores unknown fields, which later versions of Tinkerbell may add. */
function readKnown<T>(schema: z.ZodMiniType<T>, value: unknown, where: string): Read<T> {
  const excess = excessOf(value, "connection");
  if (excess !== undefined) return { problems: [`${where} ${excess}`] };
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data, unknown: [] };
  const strange = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...issue.path, key]) : [],
  );
  const unknown = new Set(strange.map(pathKey));
  const again = schema.safeParse(without(value, unknown));
  if (!again.success) return { problems: problemsOf(schema, value, again.error.issues, where) };
  return { value: again.data, unknown: strange.map((path) => [where, ...path].join(".")) };
}

/** Copies a value without the parts at the given paths. */
function without(value: unknown, paths: ReadonlySet<string>, at: readonly PropertyKey[] = []): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item, index) => without(item, paths, [...at, index]));
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, item]) => ({ path: [...at, name], name, item }))
      .filter(({ path }) => !paths.has(pathKey(path)))
      .map(({ path, name, item }) => [name, without(item, paths, path)]),
  );
}

function pathKey(path: readonly PropertyKey[]): string {
  return JSON.stringify(path.map(String));
}

function problemsOf(schema: z.ZodMiniType, value: unknown, issues: Issues, where = ""): readonly string[] {
  return valueProblems(schema, value, issues).map(({ path, message }) => {
    const field = [...(where === "" ? [] : [where]), ...path].map(String).join(".");
    return `${field || "the object"} ${message}`;
  });
}

function unknownProviders({ providerOptions }: RufioConnection, where: string): readonly string[] {
  const names = providerOptions?.preferredOrder ?? [];
  return names.flatMap((name, index) =>
    providerOf(name) ? [] : [`${where}.providerOptions.preferredOrder.${index} (${name})`],
  );
}

function fingerprintOf(annotations: z.infer<typeof Annotations>): string | undefined {
  return annotations?.[FINGERPRINT_ANNOTATION]?.trim() || undefined;
}
