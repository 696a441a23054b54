import type { BmcUser, UserReport, UserRequest } from "../../../shared/bmc/operations/user-port.ts";
import type { ActionContext, ActionReport } from "../action.ts";
import type { InputFields } from "../input/input.ts";
import { passwordToPlan, withNewPassword } from "../input/new-password.ts";
import type { PasswordInput } from "../input/user-input.ts";
import { reportPlan } from "./dry-run.ts";

type UserContext = Pick<ActionContext<InputFields>, "bmc" | "dryRun" | "log" | "nameInput" | "signal"> & {
  readonly input: PasswordInput;
};

/** Runs create-user or update-user: the new password, then the dry run, or the change and its report. */
export async function runPutUser(
  { bmc, input, dryRun, log, nameInput, signal }: UserContext,
  request: Omit<UserRequest, "password" | "mayBeSet">,
): Promise<ActionReport> {
  if (dryRun) {
    const plan = await bmc.planPutUser(
      { ...request, ...(await passwordToPlan({ input, nameInput })) },
      signal,
    );
    return reportPlan(plan, plan.before ? describeUser(plan.before) : `no user ${request.name}`);
  }
  const report = await withNewPassword({ input, log, nameInput }, (given) =>
    bmc.putUser({ ...request, ...given }, signal),
  );
  return input.passwordGenerate ? withPlace(report, input.passwordGenerateFile) : report;
}

function withPlace(report: UserReport, file: string | undefined): UserReport {
  return { ...report, summary: `${report.summary}, it is in ${file}` };
}

/** Describes a user: `user deploy as operator`, `user deploy as readonly (disabled)`. */
export function describeUser({ name, role, enabled }: BmcUser): string {
  return `user ${name} as ${role}${enabled ? "" : " (disabled)"}`;
}
