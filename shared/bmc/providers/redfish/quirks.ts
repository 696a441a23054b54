import notes from "./quirk-notes.json" with { type: "json" };
import { type QuirkNote, quirks } from "./service/behaviour-quirks.ts";
import { etagRepairs } from "./service/etag.ts";
import { messageQuirks } from "./service/message-quirks.ts";

/** Differences that need not be detected, because handling them does no harm anywhere. */
const EVERYWHERE: readonly QuirkNote[] = notes;

/** Every quirk that this provider knows, for documentation. */
export const quirkNotes: readonly QuirkNote[] = [
  ...quirks,
  ...messageQuirks,
  ...etagRepairs,
  ...EVERYWHERE,
].map(({ name, vendors, reason, source }) => ({ name, vendors, reason, source }));
