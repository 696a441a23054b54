import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { type BootProgress, postCodeOf } from "../../../operations/boot-port.ts";
import type { Unread } from "../../../operations/unread.ts";
import type { Members } from "../resources/members.ts";
import { throwUnread } from "../resources/unreadable.ts";
import { lenient, type System } from "../service/schema.ts";
import { parseResource, type Service } from "../service/service.ts";

/** Firmware writes several hundred codes per boot, and OpenBMC keeps the last hundred boots. */
const LIMITS = { members: 2_000, requests: 2 };

/**
 * An entry of OpenBMC's log of POST codes (bmcweb, systems_logservices_postcodes.hpp). `B1-7` is the seventh code of the latest
 * boot, `B2-1` the first one of the boot before; the last argument is the code.
 */
const PostCodeEntry = z.object({
  Id: z.string(),
  Created: lenient(z.string()),
  MessageArgs: z.array(z.string()),
});
const OF_LATEST_BOOT = /^B1-/;

/** The codes of the latest boot. */
export async function postCodeProgress(
  service: Service,
  members: Members,
  { LogServices: logs, LastResetTime: lastReset }: System,
  signal: AbortSignal,
): Promise<BootProgress> {
  const below = service.localPath(logs?.["@odata.id"]);
  const gaps: Unread[] = [];
  const unread = (gap: Unread) => gaps.push(gap);
  const limits = { members: LIMITS.members, requests: { left: LIMITS.requests }, unread };
  const listed =
    below === undefined ? undefined : await members.list(`${below}/PostCodes/Entries`, signal, limits);
  if (!listed) throw new BmcError("unsupported", "the BMC has no log of POST codes");
  const all = listed.map(({ path, body }) => parseResource(path, body, PostCodeEntry).value);
  const entries = all.filter(({ Id: id }) => OF_LATEST_BOOT.test(id));
  // Entries of earlier boots follow, so unread entries after them do not matter.
  if (entries.length === all.length) throwUnread(gaps, "the latest POST code");
  const postCodes = entries.map(({ MessageArgs: args }) => postCodeOf(args.at(-1) ?? ""));
  const since = Date.parse(entries[0]?.Created ?? "");
  const reset = Date.parse(lastReset ?? "");
  return {
    state: `POST code ${postCodes.at(-1) ?? "none"}`,
    postCodes: postCodes.filter((code) => code !== undefined),
    ...(entries[0]?.Created !== undefined && { boot: entries[0].Created }),
    ...(!Number.isNaN(since) && !Number.isNaN(reset) && { isOfThisBoot: since >= reset }),
  };
}
