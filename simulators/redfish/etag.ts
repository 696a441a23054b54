import { createHash } from "node:crypto";
import { type Answer, preconditionFailed, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";

/** Returns the current entity tag of a resource: strong and quoted. */
function tagOf(resource: unknown): string {
  return `"${createHash("sha1").update(JSON.stringify(resource)).digest("hex").slice(0, 12)}"`;
}

/** Adds the tag to a resource in the form of this profile. */
export function withTag(resource: Record<string, unknown>, profile: RedfishProfile): Answer {
  const tag = tagOf(resource);
  if (profile.etagSent === "property") {
    return { status: 200, body: { ...resource, "@odata.etag": tag } };
  }
  const forms = {
    strong: tag,
    weak: `W/${tag}`,
    doubled: `"${tag}"`,
    gzip: tag.replace(/"$/, '-gzip"'),
  } as const;
  return { status: 200, body: resource, headers: { ETag: forms[profile.etagSent] } };
}

/** Checks If-Match of a write. Returns a refusal, or undefined if there is none. */
export function checkIfMatch(
  ifMatch: string | undefined,
  resource: Record<string, unknown>,
  profile: RedfishProfile,
): Answer | undefined {
  const failed = preconditionFailed("ETag");
  if (profile.ifMatch === "refused") return ifMatch === undefined ? undefined : failed;
  if (ifMatch === undefined && profile.ifMatch === "checked") return undefined;
  if (ifMatch === undefined) {
    return refusal(428, "Base.1.8.PreconditionRequired", "The request needs an If-Match header.");
  }
  const tag = tagOf(resource);
  const isWeak = profile.etagSent === "weak" || profile.takesWeakEtag === true;
  const taken = isWeak ? `W/${tag}` : tag;
  return ifMatch === taken ? undefined : failed;
}
