/** What is measured, and one measurement in milliseconds. */
export type Subject = readonly [title: string, measure: () => Promise<number>];

/**
 * Each subject once per round, so that the load of the machine affects all alike. The first round only fills caches. The first
 * subject is what the others are compared with.
 */
export async function inTurn(
  rounds: number,
  subjects: readonly Subject[],
): Promise<readonly (readonly [string, readonly number[]])[]> {
  const times = subjects.map(([title]): [string, number[]] => [title, []]);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, [, measure]] of subjects.entries()) {
      const took = await measure();
      if (round > 0) times[index]?.[1].push(took);
    }
  }
  return times;
}

/** The cells of a ratio to the first subject, whose own is 1. */
export function verdictOf(ratio: number, goal: number): readonly [string, string] {
  if (ratio === 1) return ["", ""];
  return [`${ratio.toFixed(2)} x`, `${goal} x ${ratio <= goal ? "met" : "missed"}`];
}
