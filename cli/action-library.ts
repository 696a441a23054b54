import { catalogue, idempotentNames, inputNames, loadAction } from "../actions/catalogue.ts";
import { type Clock, systemClock } from "../shared/clock.ts";
import type { ActionLibrary } from "../worker/runtimes/action-library.ts";

export const actionLibrary = actionLibraryOn(systemClock);

/** The actions of this project, each loaded on first use. */
export function actionLibraryOn(clock: Clock): ActionLibrary {
  return {
    names: () => catalogue,
    inputNames: () => inputNames,
    idempotentNames: () => idempotentNames,
    async find(name) {
      const action = await loadAction(name);
      if (!action) return undefined;
      return {
        idempotent: action.idempotent,
        async problems(given) {
          const { givenProblems } = await import("../actions/harness/input/read-input.ts");
          const { parseFlags } = await import("../actions/harness/input/flags.ts");
          return givenProblems(action, given.environment, parseFlags(action, given.command));
        },
        async run({ onLog, ...request }) {
          const { runWithin } = await import("../actions/harness/run/run-within.ts");
          return runWithin(action, {
            ...request,
            clock,
            onLine: (line) => onLog({ stream: "stderr", line }),
            onSpans: (line) => onLog({ stream: "stdout", line }),
          });
        },
      };
    },
  };
}
