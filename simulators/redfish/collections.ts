import { z } from "zod";
import { type Answer, ok, refusal } from "./answer.ts";
import type { RedfishProfile } from "./profiles.ts";

const Page = z.looseObject({ Members: z.array(z.looseObject({ "@odata.id": z.string() })) });

/**
 * Sends a collection in the way of this profile: in pages with a link to the next (DSP0266 section 7.6.7), and with complete
 * members if `$expand` asks for them and the profile supports it (section 7.3). Other answers are not changed.
 */
export function sendCollection(
  answer: Answer,
  { path, query }: { readonly path: string; readonly query: URLSearchParams },
  profile: RedfishProfile,
  get: (path: string) => Answer,
): Answer {
  const parsed = Page.safeParse(answer.body);
  const expand = query.get("$expand");
  if (!parsed.success || answer.status !== 200) return answer;
  if (expand !== null && expand !== profile.expand && profile.expandsAnyway !== true) {
    return refusal(501, "Base.1.8.QueryNotSupported", "Querying is not supported by the implementation.");
  }
  const skip = Number(query.get("$skip") ?? 0);
  const all = parsed.data.Members;
  const size = profile.pageSize ?? all.length;
  const members = all.slice(skip, skip + size);
  const rest = skip + size < all.length;
  const carried = expand === null ? "" : `&$expand=${expand}`;
  const whole = expand !== null || profile.expandsAnyway === true;
  return ok({
    ...parsed.data,
    Members: whole ? members.map((member) => get(member["@odata.id"]).body) : members,
    ...(rest ? { "Members@odata.nextLink": `${path}?$skip=${skip + size}${carried}` } : {}),
  });
}
