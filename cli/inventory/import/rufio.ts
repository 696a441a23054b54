import * as z from "zod/mini";
import { defined } from "../../../shared/defined.ts";
import type { Checked, Problem } from "../../../shared/document/problem.ts";
import { parseYaml, type YamlDocument } from "../../../shared/document/yaml-document.ts";
import { decodeText, FileProblem, fileProblemOf } from "../../../shared/read-text-file.ts";
import { Secret } from "../../../shared/secret.ts";
import { readSecretText } from "../../../worker/document/secret-text.ts";
import {
  type ConnectionSource,
  connectionDocument,
} from "../../../worker/features/cluster-machines/connection-document.ts";
import { describeMachine } from "../../../worker/features/cluster-machines/described-machine.ts";
import { withMetadata } from "../../../worker/features/cluster-machines/paused.ts";
import { loginUse } from "../../../worker/features/cluster-machines/secret-uses.ts";
import { apiVersionOf, KINDS, keyOf, type ObjectName } from "../../../worker/kubernetes/client/kinds.ts";
import { type Imported, type ImportedMachine, refusedInput } from "./imported-machine.ts";

const KubernetesObject = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.object({ name: z.string(), namespace: z.optional(z.string()) }),
});
/** The list that `kubectl get --output yaml` prints for several objects. */
const ObjectList = z.object({ kind: z.string().check(z.endsWith("List")), items: z.array(z.unknown()) });

const Values = z.optional(z.nullable(z.record(z.string(), z.string())));
const SecretObject = z.object({ data: Values, stringData: Values });

const describeLabelled = withMetadata(KINDS.rufioMachine, describeMachine);

/** `kubectl apply` uses the namespace of its context, which the file does not contain. */
const DEFAULT_NAMESPACE = "default";

interface Found {
  readonly source: string;
  readonly at: ObjectName;
  readonly object: unknown;
}

/** Reads `Machine` objects of Rufio, with the user names and passwords of `Secret` objects in the same file. */
export function readRufio(text: string, path: string): Imported {
  const parsed = parseYamlDocuments(path, text);
  if (!parsed.ok) return { machines: [], skipped: [], problems: parsed.problems, notes: [] };
  const machines: Found[] = [];
  const secrets = new Map<string, unknown>();
  for (const document of parsed.value) {
    const list = ObjectList.safeParse(document.value);
    const objects = list.success ? list.data.items : [document.value];
    for (const [index, object] of objects.entries()) {
      const read = KubernetesObject.safeParse(object);
      if (!read.success) continue;
      const { apiVersion, kind, metadata } = read.data;
      const at = { name: metadata.name, namespace: metadata.namespace ?? DEFAULT_NAMESPACE };
      const source = document.sourceOf(list.success ? ["items", index] : []);
      const isKind = (known: (typeof KINDS)["secret" | "rufioMachine"]) =>
        kind === known.kind && apiVersion === apiVersionOf(known);
      if (isKind(KINDS.secret)) secrets.set(keyOf(at), object);
      if (isKind(KINDS.rufioMachine)) machines.push({ source, at, object });
    }
  }
  if (machines.length === 0)
    return refusedInput(path, `has no Machine of ${apiVersionOf(KINDS.rufioMachine)}`);
  return readMachines(machines, secrets);
}

function readMachines(machines: readonly Found[], secrets: ReadonlyMap<string, unknown>): Imported {
  const hasNamespaces = new Set(machines.map(({ at }) => at.namespace)).size > 1;
  const skipped: Problem[] = [];
  const problems: Problem[] = [];
  const notes: string[] = [];
  const imported = machines.flatMap(({ source, at, object }) => {
    const { content, labels } = describeLabelled(object, at) ?? {};
    if (content?.kind !== "usable") {
      problems.push(...(content?.problems ?? []).map((message) => ({ source, message })));
      return [];
    }
    if (content.unknown) notes.push(`${source}: ignored ${content.unknown.join(", ")}`);
    const { connection } = content.source;
    if (connection.providerOptions?.rpc) {
      skipped.push({
        source,
        message: `Machine ${at.name} uses a webhook (rpc), whose headers may be secrets`,
      });
      return [];
    }
    try {
      // The worker uses names of this form for machines of several namespaces.
      const name = hasNamespaces ? `${at.name}.${at.namespace}` : at.name;
      return [
        {
          source,
          name,
          entry: { ...entryOf(content.source), labels },
          ...loginOf(content.source, at.namespace, secrets),
        },
      ];
    } catch (thrown) {
      problems.push({ source, message: fileProblemOf(thrown) });
      return [];
    }
  });
  return { machines: imported, skipped, problems, notes };
}

/** Converts a connection file, which has durations in milliseconds and secrets, to an inventory entry, which has neither. */
function entryOf(source: ConnectionSource): ImportedMachine["entry"] {
  const { username: _, password: _password, homeassistant, ...entry } = connectionDocument(source);
  if (homeassistant === undefined) return entry;
  const { powerOperationDelayMs: delayMs, ...others } = homeassistant as Record<string, unknown>;
  return {
    ...entry,
    homeassistant: { ...others, powerOperationDelay: delayMs === undefined ? undefined : `${delayMs}ms` },
  };
}

/**
 * Reads the login of a machine; there is none without the Secret. Throws a `FileProblem` about a value that is not a user
 * name or password.
 */
function loginOf({ connection }: ConnectionSource, namespace: string, secrets: ReadonlyMap<string, unknown>) {
  const login = loginUse(connection, namespace);
  if (!login) return {};
  const called = keyOf(login.secret);
  const secret = SecretObject.safeParse(secrets.get(called));
  if (!secret.success) return {};
  const { data, stringData } = secret.data;
  const read = (key: "username" | "password") => {
    if (!login.keys.includes(key)) return undefined;
    try {
      // The API server also prefers stringData.
      const plain = valueUnder(stringData, key);
      const encoded = valueUnder(data, key);
      if (plain === undefined && encoded === undefined) return undefined;
      return readSecretText(plain ?? decodeText(Buffer.from(encoded ?? "", "base64")));
    } catch (thrown) {
      throw new FileProblem(`Secret ${called}: its key ${key} ${fileProblemOf(thrown)}`);
    }
  };
  const password = read("password");
  return defined({
    username: read("username"),
    password: password === undefined ? undefined : new Secret(password),
  });
}

function valueUnder(values: z.infer<typeof Values>, key: string): string | undefined {
  return values && Object.hasOwn(values, key) ? values[key] : undefined;
}

const MOST_DOCUMENTS = 100_000;

/** Reads all documents of a YAML stream except empty ones. Line numbers are those of the stream. */
export function parseYamlDocuments(path: string, text: string): Checked<readonly YamlDocument[]> {
  // A line that begins with --- ends the document, wherever it occurs (YAML 1.2 section 9.1.2).
  const parts = text.split(/^---(?=\s|$)/m);
  if (parts.length > MOST_DOCUMENTS) {
    return { ok: false, problems: [{ source: path, message: `has more than ${MOST_DOCUMENTS} documents` }] };
  }
  const documents: YamlDocument[] = [];
  const problems: Problem[] = [];
  let before = 0;
  for (const part of parts) {
    const moved = moveBy(before);
    const parsed = parseYaml(path, part);
    if (!parsed.ok)
      problems.push(...parsed.problems.map((problem) => ({ ...problem, source: moved(problem.source) })));
    else if (parsed.value.value !== null) {
      const { sourceOf } = parsed.value;
      documents.push({ ...parsed.value, sourceOf: (keys) => moved(sourceOf(keys)) });
    }
    before += part.split("\n").length - 1;
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: documents, warnings: [] };
}

/** Returns a function that shifts the line in `file:line`. */
function moveBy(lines: number): (source: string) => string {
  return (source) => source.replace(/:(\d+)$/, (_, line: string) => `:${Number(line) + lines}`);
}
