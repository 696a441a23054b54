import { defined } from "../../defined.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { changeSetting, readIfPossible, reported } from "./read-back.ts";

/** What a machine does when its power supply returns: stay off, power on, or return to the state before. */
export type RestorePolicy = "always-off" | "always-on" | "last-state";

export interface RestoreDriver {
  /** Undefined where it cannot be read back. */
  read(signal: AbortSignal): Promise<RestorePolicy | undefined>;
  plan(policy: RestorePolicy, signal: AbortSignal): Promise<string>;
  write(policy: RestorePolicy, signal: AbortSignal): Promise<void>;
}

/** Result of setting what a machine does when its power supply returns. */
export interface RestoreReport {
  /** The policy before the change; absent if the BMC cannot show it. */
  readonly before?: RestorePolicy;
  /** The policy as read back; absent if the BMC cannot show it. */
  readonly after?: RestorePolicy;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type RestoreDrivers = { readonly restore: RestoreDriver };

export const restoreOperations = defineOperations({
  title: "power restore policy",
  methods: (run: Run<RestoreDrivers>) => ({
    /** Reads what the machine does when its power supply returns. */
    getRestorePolicy: (signal: AbortSignal = neverAborted()): Promise<RestorePolicy> =>
      run(signal, async ({ read }) =>
        reported("power restore policy", await read(({ restore }) => restore.read(signal))),
      ),

    /** Sets what the machine does when its power supply returns, and reads it back. */
    setRestorePolicy: (policy: RestorePolicy, signal: AbortSignal = neverAborted()): Promise<RestoreReport> =>
      run(signal, (access) => setPolicy(access, policy, signal)),

    /** What `setRestorePolicy` would send. */
    planRestorePolicy: (
      policy: RestorePolicy,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<RestorePolicy | undefined>> =>
      run(signal, async ({ read }) => {
        const before = await readIfPossible(() => read(({ restore }) => restore.read(signal)));
        const step = () => read(({ restore }) => restore.plan(policy, signal));
        return { before, steps: before === policy ? [] : [await step()] };
      }),
  }),
  check: async ({ read }, signal) =>
    ok((await read(({ restore }) => restore.read(signal))) ?? "can be set, cannot be read back"),
});

async function setPolicy(
  { read, write, insist, sleep }: Access<RestoreDrivers>,
  policy: RestorePolicy,
  signal: AbortSignal,
): Promise<RestoreReport> {
  const { before, after, changed } = await changeSetting(
    {
      read: () => read(({ restore }) => restore.read(signal)),
      write: (patience) => write(({ restore }) => restore.write(policy, signal), patience),
      repairing: () => undefined,
      insist,
      sleep,
    },
    { asked: policy, isSet: (state) => state === policy, describe: (state) => state },
  );
  const unread = after === undefined ? " accepted, cannot be read back" : "";
  const summary = `power restore policy ${changed ? "" : "already "}${policy}${unread}`;
  return { ...defined({ before, after }), changed, summary };
}
