import { defined } from "../defined.ts";
import { BmcError } from "./bmc-error.ts";

/** The parts of an image reference such as `registry.example/acme/power:v1@sha256:…`, without defaults. */
export interface ImageReference {
  /** `host` or `host:port`. */
  readonly registry?: string;
  /** The path within the registry, such as `acme/power`. */
  readonly repository: string;
  /** The repository's last path component, such as `power`. */
  readonly name: string;
  readonly tag?: string;
  /** `algorithm:hex`. */
  readonly digest?: string;
}

// The grammar of the distribution project's reference package.
const HOST_LABEL = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const REGISTRY = new RegExp(`^(?:${HOST_LABEL}(?:\\.${HOST_LABEL})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`);
const PATH_COMPONENT = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST_HEX_LENGTHS: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };
const LONGEST_NAME = 255;
/** A name, a tag and a digest at their longest. */
const LONGEST_REFERENCE = LONGEST_NAME + 1 + 128 + 1 + 7 + 128;

/** Parses a reference; undefined for other text. 64 hex digits are an image ID, not a reference. */
export function parseImageReference(text: string): ImageReference | undefined {
  if (text.length > LONGEST_REFERENCE || /^[a-f0-9]{64}$/.test(text)) return undefined;
  const [tagged, digest] = cut(text, text.indexOf("@"));
  const colon = tagged.lastIndexOf(":");
  // A colon before the last slash belongs to the registry's port.
  const [full, tag] = cut(tagged, colon > tagged.lastIndexOf("/") ? colon : -1);
  const [registry, repository] = splitRegistry(full);
  const components = repository.split("/");
  const name = components.at(-1);
  if (name === undefined || !components.every((component) => PATH_COMPONENT.test(component)))
    return undefined;
  if (full.length > LONGEST_NAME) return undefined;
  if (registry !== undefined && !REGISTRY.test(registry)) return undefined;
  if (tag !== undefined && !TAG.test(tag)) return undefined;
  if (digest !== undefined && !isDigest(digest)) return undefined;
  return { repository, name, ...defined({ registry, tag, digest }) };
}

export const DEFAULT_REGISTRY = "docker.io";

/** The name with its registry, in the form that the policy compares: `alpine` is `docker.io/library/alpine`. */
export function fullImageName({ registry = DEFAULT_REGISTRY, repository }: ImageReference): string {
  const canonical = canonicalRegistry(registry);
  return `${canonical}/${withLibrary(canonical, repository)}`;
}

/** The registry in lower case. Engines know Docker Hub under a second name. */
export function canonicalRegistry(registry: string): string {
  const lower = registry.toLowerCase();
  return lower === "index.docker.io" ? DEFAULT_REGISTRY : lower;
}

/** Adds the path of Docker Hub's official images. */
export function withLibrary(registry: string, repository: string): string {
  const official = registry === DEFAULT_REGISTRY && !repository.includes("/") && !repository.includes("**");
  return official ? `library/${repository}` : repository;
}

/**
 * The reference in a form for an engine. Engines read text such as `sha256:<hex>` or hex digits as the ID of a local image,
 * and may search for a short name elsewhere. A digest replaces a tag, because engines ignore a tag next to it. Throws a
 * `BmcError` of class `usage` for text that is not a reference.
 */
export function engineImage(text: string): string {
  const reference = parseImageReference(text);
  if (!reference) throw new BmcError("usage", `${JSON.stringify(text)} is not an image reference`);
  const { tag = "latest", digest } = reference;
  return `${fullImageName(reference)}${digest === undefined ? `:${tag}` : `@${digest}`}`;
}

/** Splits off the registry. The first component is a registry only if it cannot be part of a repository's path. */
function splitRegistry(full: string): readonly [string | undefined, string] {
  const slash = full.indexOf("/");
  const first = full.slice(0, Math.max(slash, 0));
  return slash > 0 && (first === "localhost" || /[.:A-Z]/.test(first))
    ? [first, full.slice(slash + 1)]
    : [undefined, full];
}

function isDigest(text: string): boolean {
  const [algorithm, hex = ""] = cut(text, text.indexOf(":"));
  return hex.length === DIGEST_HEX_LENGTHS[algorithm] && /^[a-f0-9]+$/.test(hex);
}

function cut(text: string, at: number): readonly [string, string | undefined] {
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
