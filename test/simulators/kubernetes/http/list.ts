import { ApiFailure, badRequest, expired } from "../api/failure.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-type.ts";
import { type Matches, parseFieldSelector, parseLabelSelector } from "../api/selectors.ts";
import { type ObjectStore, placeOf } from "../api/store.ts";

interface ContinueToken {
  readonly v: string;
  /** -1 continues in the newest state. */
  readonly rv: number;
  readonly start: string;
}

const TOKEN_VERSION = "meta.k8s.io/v1";
const TOO_OLD =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/** The selectors of a list, a watch or a deletion of many. */
export function parseSelectors(type: ResourceType, query: URLSearchParams): Matches {
  const labels = parseLabelSelector(query.get("labelSelector") ?? "");
  const fields = parseFieldSelector(query.get("fieldSelector") ?? "", type);
  return (object) => labels(object) && fields(object);
}

/** A list of the kind as it goes over the wire, in chunks when `limit` asks for them. */
export function listObjects(
  store: ObjectStore,
  type: ResourceType,
  namespace: string,
  query: URLSearchParams,
): JsonObject {
  const matches = parseSelectors(type, query);
  const limit = parseNumber(query.get("limit"));
  const token = parseToken(query.get("continue"));
  const revision = token ? token.rv : exactRevision(store, query);
  const all = objectsAt(store, type, namespace, revision, token);
  const at = revision >= 0 ? revision : store.revision;
  const matching = all
    .filter(matches)
    .filter((object) => token === undefined || placeOf(object) > token.start);
  const page = limit > 0 ? matching.slice(0, limit) : matching;
  const last = page.at(-1);
  const left = matching.length - page.length;
  const more =
    last && left > 0
      ? {
          continue: encodeToken({ v: TOKEN_VERSION, rv: at, start: placeOf(last) }),
          remainingItemCount: left,
        }
      : {};
  return listOf(type, page, String(at), more);
}

export function listOf(
  type: ResourceType,
  items: readonly KubeObject[],
  resourceVersion: string,
  more: JsonObject = {},
): JsonObject {
  return {
    kind: `${type.kind}List`,
    apiVersion: apiVersionOf(type),
    metadata: { resourceVersion, ...more },
    items: type.schema ? items : items.map(withoutKind),
  };
}

/** The revision that a list or a watch begins at; -1 for none. Throws 400 for what is no version. */
export function parseResourceVersion(text: string | null): number {
  if (text === null || text === "") return -1;
  if (!/^\d+$/.test(text))
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  return Number(text);
}

export function parseNumber(text: string | null): number {
  if (text === null || text === "") return 0;
  if (!/^-?\d+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

function objectsAt(
  store: ObjectStore,
  type: ResourceType,
  namespace: string,
  revision: number,
  token: ContinueToken | undefined,
): KubeObject[] {
  if (revision < 0) return store.list(type, namespace);
  try {
    return store.listAt(type, namespace, revision);
  } catch (thrown) {
    if (!token || !(thrown instanceof ApiFailure)) throw thrown;
    throw expired(TOO_OLD, { continue: encodeToken({ ...token, rv: -1 }) });
  }
}

/** Only `Exact` lists the past; any other version only has to have been reached. */
function exactRevision(store: ObjectStore, query: URLSearchParams): number {
  const version = parseResourceVersion(query.get("resourceVersion"));
  if (version > store.revision)
    throw new ApiFailure(
      504,
      "Timeout",
      `Timeout: Too large resource version: ${version}, current: ${store.revision}`,
      {
        causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version", field: "" }],
        retryAfterSeconds: 1,
      },
    );
  return query.get("resourceVersionMatch") === "Exact" ? version : -1;
}

function parseToken(text: string | null): ContinueToken | undefined {
  if (text === null || text === "") return undefined;
  try {
    const token: ContinueToken = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (token.v === TOKEN_VERSION) return token;
  } catch {
    // Said below.
  }
  throw badRequest("invalid continue token: continue key is not valid");
}

function encodeToken(token: ContinueToken): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

function withoutKind({ kind: _, apiVersion: __, ...rest }: KubeObject): JsonObject {
  return rest;
}
