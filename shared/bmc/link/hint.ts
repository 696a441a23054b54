import { defined } from "../../defined.ts";
import type { Session } from "../operations/provider.ts";

/** What was learned about a BMC, by provider. Each provider validates its own part. */
export interface Hints {
  /** The provider that answered. */
  readonly provider?: string;
  readonly providers: Readonly<Record<string, unknown>>;
}

/** Reads a hint, which comes from outside. Anything of another shape is ignored. */
export function readHint(hint: unknown): Hints {
  if (typeof hint !== "object" || hint === null) return { providers: {} };
  const { provider, providers } = hint as { provider?: unknown; providers?: unknown };
  return {
    ...defined({ provider: typeof provider === "string" ? provider : undefined }),
    providers: typeof providers === "object" && providers !== null ? { ...providers } : {},
  };
}

/** Adds what a session has learned to the hint. Plain JSON. */
export function composeHint(before: unknown, session: Pick<Session, "provider" | "hint">): Hints {
  const { providers } = readHint(before);
  return { provider: session.provider, providers: { ...providers, [session.provider]: session.hint() } };
}

/**
 * Combines what several clients of one BMC have learned with what was known before: for each provider the later hint, and
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
