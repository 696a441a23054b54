import { defined } from "../../defined.ts";
import type { Session } from "../operations/provider.ts";

/** What was learned about a BMC, by provider; each part is its provider's own to validate. */
export interface Hints {
  /** The one that answered. */
  readonly provider?: string;
  readonly providers: Readonly<Record<string, unknown>>;
}

/** A hint comes from outside: whatever does not have its shape is no hint. */
export function readHint(hint: unknown): Hints {
  if (typeof hint !== "object" || hint === null) return { providers: {} };
  const { provider, providers } = hint as { provider?: unknown; providers?: unknown };
  return {
    ...defined({ provider: typeof provider === "string" ? provider : undefined }),
    providers: typeof providers === "object" && providers !== null ? { ...providers } : {},
  };
}

/** The hint with what a session has learned; plain JSON. */
export function composeHint(before: unknown, session: Pick<Session, "provider" | "hint">): Hints {
  const { providers } = readHint(before);
  return { provider: session.provider, providers: { ...providers, [session.provider]: session.hint() } };
}

/**
 * What several clients of one BMC have learned, beside what was known before: of each provider the later hint, and
 * the first provider that answered.
 */
export function mergeHints(before: unknown, learned: readonly unknown[]): unknown {
  const all = learned.filter((hint) => hint !== undefined).map(readHint);
  if (all.length === 0) return before;
  const known = readHint(before);
  const provider = all[0]?.provider ?? known.provider;
  const parts = [known, ...all].flatMap(({ providers }) => Object.entries(providers));
  return { ...defined({ provider }), providers: Object.fromEntries(parts) };
}
