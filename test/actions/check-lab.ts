import { z } from "zod";
import { reference } from "../../actions/check/reference.ts";
import { type EndedAction, resultOf } from "./action-run.ts";

/** The part of the data of `check` that its tests use. */
const Data = z.object({
  checks: z.array(
    z.object({
      provider: z.string(),
      check: z.string(),
      state: z.string(),
      detail: z.string(),
      class: z.string().optional(),
      durationMs: z.number().optional(),
      roundTrips: z.number().optional(),
    }),
  ),
  providers: z.array(
    z.object({ provider: z.string(), ok: z.number(), checks: z.number(), roundTrips: z.number() }),
  ),
});

/** What a check found, which must be as the action's reference says. */
export function foundBy(ended: EndedAction): z.infer<typeof Data> {
  const { data } = resultOf(ended);
  reference.output.data?.parse(data);
  return Data.parse(data);
}

export const rowsOf = (ended: EndedAction) => foundBy(ended).checks;

export function rowOf(ended: EndedAction, provider: string, check: string) {
  return rowsOf(ended).find((row) => row.provider === provider && row.check === check);
}

/** The states of one provider's checks by name. */
export function statesOf(ended: EndedAction, provider: string): Readonly<Record<string, string>> {
  const own = rowsOf(ended).filter((row) => row.provider === provider);
  return Object.fromEntries(own.map(({ check, state }) => [check, state]));
}
