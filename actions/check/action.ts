import { systemClock } from "../../shared/clock.ts";
import { formatTable } from "../../shared/table.ts";
import { ActionFailure, defineAction } from "../harness/action.ts";
import { choiceList, duration } from "../harness/input/input.ts";
import { checkProvider, type ProviderChecks, skipProvider } from "./check-provider.ts";
import { CHECK_NAMES, type CheckRow } from "./checks.ts";
import { dataOf, summarise, unmet } from "./verdict.ts";

/** Formats one line per check, grouped by provider. The first line of a group has the provider's name. */
function checkTable(rows: readonly CheckRow[]): string {
  return formatTable(
    ["provider", "check", "state", "ms", "detail"],
    rows.map(({ provider, check, state, durationMs, detail }, index) => [
      rows[index - 1]?.provider === provider ? "" : provider,
      check,
      state,
      durationMs === undefined ? "" : String(durationMs),
      detail,
    ]),
    [3],
  );
}

export default defineAction({
  name: "check",
  summary:
    "Check everything that the other actions need from a BMC, with each provider, without changing anything",
  idempotent: true,
  input: {
    require: choiceList(CHECK_NAMES, {
      env: "REQUIRE",
      description: "Checks that must pass with at least one provider; login is always required",
      default: "login,power,boot",
    }),
    maxClockSkew: duration({
      env: "MAX_CLOCK_SKEW",
      description: "Maximum difference between the BMC's clock and this host's",
      default: "5m",
    }),
  },
  run: async ({ providers, tlsFallback, clientFor, input, nameInput, signal }) => {
    // In the order of the checks, because the first failure causes the others.
    const required = CHECK_NAMES.filter((name) => name === "login" || input.require.includes(name));
    const maxClockSkew = { ms: input.maxClockSkew, name: nameInput("MAX_CLOCK_SKEW") };
    const options = { clock: systemClock, maxClockSkew, required };
    const checked: ProviderChecks[] = [];
    for (const provider of providers) {
      signal.throwIfAborted();
      const earlier = checked.find(
        ({ endedBy }) => endedBy === "auth" || (endedBy === "tls" && !tlsFallback),
      );
      checked.push(
        earlier
          ? skipProvider(provider, earlier)
          : await checkProvider(provider, clientFor(provider), options, signal),
      );
    }
    const report = { changed: false, data: dataOf(checked) };
    const error = await unmet(checked, required, tlsFallback);
    if (error) throw new ActionFailure(error, report);
    return { ...report, summary: summarise(checked, required) };
  },
  table: ({ checks }) => checkTable(checks),
});
