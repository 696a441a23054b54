import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { z } from "zod";
import { valueProblems } from "../../../shared/document/issue-problems.ts";
import { parseYaml } from "../../../shared/document/yaml-document.ts";
import { KubernetesError } from "./kubernetes-error.ts";

/** The part of a kubeconfig that one context uses. */
export interface IdentityKubeconfig {
  readonly server: string;
  /** PEM in base64, which is the form in the kubeconfig. */
  readonly ca?: string | undefined;
  readonly serverName?: string | undefined;
  readonly token?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  readonly namespace?: string | undefined;
}

/** Parsing a longer text would take too long. */
const LONGEST_TEXT = 64 * 1024;

/** Keys that name files or programs of the worker, weaken TLS, or redirect requests. */
const REFUSED = {
  "certificate-authority": "names a file: use certificate-authority-data",
  "proxy-url": "is allowed only in a kubeconfig file",
  "client-certificate": "names a file: use client-certificate-data",
  "client-key": "names a file: use client-key-data",
  tokenFile: "names a file: use token",
  exec: "runs a program: use a token or a client certificate",
  "auth-provider": "runs a program: use a token or a client certificate",
  username: "is not allowed: use a token or a client certificate",
  password: "is not allowed: use a token or a client certificate",
} as const;

const Base64 = z.string().regex(/^[A-Za-z0-9+/\s]+=*\s*$/, { error: "must be base64" });
const ClusterPart = z.strictObject({
  server: z.string().refine(isServer, { error: "must be an https URL without user and query" }),
  "certificate-authority-data": Base64.optional(),
  "tls-server-name": z.string().optional(),
  "insecure-skip-tls-verify": z
    .literal(false, { error: "must not be true: set certificate-authority-data" })
    .optional(),
  "disable-compression": z.boolean().optional(),
  extensions: z.unknown().optional(),
});
const UserPart = z.strictObject({
  token: z
    .string()
    .trim()
    .regex(/^[\x21-\x7e]+$/, { error: "must be one line of ASCII characters" })
    .optional(),
  "client-certificate-data": Base64.optional(),
  "client-key-data": Base64.optional(),
  extensions: z.unknown().optional(),
});
const ContextPart = z.looseObject({
  cluster: z.string(),
  user: z.string(),
  namespace: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, { error: "must be a namespace" })
    .optional(),
});

const Entry = z.looseObject({ name: z.string() });
const Entries = z.array(Entry).max(1_000);
const Kubeconfig = z.looseObject({
  clusters: Entries,
  users: Entries,
  contexts: Entries,
  "current-context": z.string().optional(),
});

/**
 * Reads the chosen context (default: the current one) of a kubeconfig that users of the cluster wrote. Allows only servers
 * with verified certificates, and tokens and client certificates that are in the text itself. Throws a `KubernetesError`
 * that quotes nothing from the text.
 */
export function parseIdentityKubeconfig(text: string, contextName: string | undefined): IdentityKubeconfig {
  if (text.length > LONGEST_TEXT) throw invalid(`is longer than ${LONGEST_TEXT} characters`);
  const yaml = parseYaml("kubeconfig", text);
  if (!yaml.ok) throw invalid(`is not valid YAML: ${yaml.problems[0]?.message}`);
  const all = checked(Kubeconfig, yaml.value.value, "");
  const chosen = contextName ?? all["current-context"] ?? "";
  if (chosen === "") throw invalid("has no current-context: set contextName");
  const part = <T>(schema: z.ZodType<T>, kind: "context" | "cluster" | "user", name: string): T => {
    const entry = all[`${kind}s`].find((candidate) => candidate.name === name);
    if (!entry)
      throw invalid(kind === "context" ? "lacks the chosen context" : `lacks the ${kind} of the context`);
    return checked(schema, entry[kind], `${kind}.`);
  };
  const context = part(ContextPart, "context", chosen);
  const cluster = part(ClusterPart, "cluster", context.cluster);
  const user = part(UserPart, "user", context.user);
  const found: IdentityKubeconfig = {
    server: cluster.server,
    ca: cluster["certificate-authority-data"],
    serverName: cluster["tls-server-name"],
    token: user.token,
    certificate: user["client-certificate-data"],
    key: user["client-key-data"],
    namespace: context.namespace,
  };
  checkCertificates(found);
  return found;
}

function checked<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const parsed = schema.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  const [first] = valueProblems(schema, value ?? {}, parsed.error.issues, REFUSED);
  throw invalid(`${where}${first?.path.join(".")} ${first?.message}`);
}

/** Throws if a certificate or key is invalid, which would otherwise show only when connecting. */
function checkCertificates({ ca, certificate, key, token }: IdentityKubeconfig): void {
  if ((certificate === undefined) !== (key === undefined)) {
    throw invalid("user needs both client-certificate-data and client-key-data");
  }
  if (token === undefined && certificate === undefined)
    throw invalid("user has no token and no client certificate");
  const pem = (base64: string | undefined) =>
    base64 === undefined ? undefined : Buffer.from(base64, "base64");
  try {
    // A secure context ignores a CA that is not a certificate.
    for (const one of pem(ca)
      ?.toString()
      .split(/(?<=-----END CERTIFICATE-----)\s+/) ?? []) {
      if (one !== "") new X509Certificate(one);
    }
    createSecureContext({ ca: pem(ca), cert: pem(certificate), key: pem(key) });
  } catch {
    throw invalid("has certificates or a key that cannot be used");
  }
}

function isServer(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.username === "" && url.password === "" && !/[?#]/.test(text);
}

function invalid(problem: string): KubernetesError {
  return new KubernetesError("invalid", `kubeconfig ${problem}`);
}
