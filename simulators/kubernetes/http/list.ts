import { badRequest } from "../api/failure.ts";
import type { JsonObject, KubeObject } from "../api/object.ts";
import { apiVersionOf, type ResourceType } from "../api/resource-types.ts";
import { parseSelectors } from "../api/selectors.ts";
import { keyOf, type ObjectStore } from "../api/store.ts";

/** Where the next page begins, and the version of the first page. */
interface ContinueToken {
  readonly resourceVersion: string;
  readonly after: string;
}

/**
 * Makes a list as sent over HTTP, in pages if `limit` is set. Later pages hold the current state instead of the state of the
 * first page. All pages have the version of the first, from which a watch reports later changes.
 */
export function listObjects(
  store: ObjectStore,
  type: ResourceType,
  namespace: string,
  query: URLSearchParams,
): JsonObject {
  const token = parseToken(query.get("continue"));
  const resourceVersion = token?.resourceVersion ?? String(store.revision);
  const all = store.list(type, namespace).filter(parseSelectors(query));
  const matching = token ? all.filter((object) => keyOf(object) > token.after) : all;
  const page = matching.slice(0, Number(query.get("limit")) || undefined);
  const last = page.at(-1);
  const metadata: JsonObject = { resourceVersion };
  if (last && page.length < matching.length)
    metadata["continue"] = Buffer.from(JSON.stringify({ resourceVersion, after: keyOf(last) })).toString(
      "base64url",
    );
  const items = type.custom ? page : page.map(withoutKind);
  return { kind: `${type.kind}List`, apiVersion: apiVersionOf(type), metadata, items };
}

function parseToken(text: string | null): ContinueToken | undefined {
  if (!text) return undefined;
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    throw badRequest("invalid continue token: continue key is not valid");
  }
}

/** Removes the kind, which items of built-in kinds do not repeat. */
function withoutKind({ kind: _, apiVersion: __, ...rest }: KubeObject): JsonObject {
  return rest;
}
