import { defined } from "../../shared/defined.ts";
import { defineAction } from "../harness/action.ts";
import { checkPassword, passwordInput, userName, userRole } from "../harness/input/user-input.ts";
import { runPutUser } from "../harness/run/run-user.ts";

export default defineAction({
  name: "update-user",
  summary: "Change the password or role of a BMC user, including the one that logs in",
  idempotent: true,
  input: { userName, role: userRole({}), ...passwordInput },
  check: (input, nameInput) => [
    ...checkPassword(input, nameInput, { required: false }),
    ...(changesNothing(input) ? [`nothing to change: set a password, ${nameInput("ROLE")}, or both`] : []),
  ],
  run: (context) => {
    const { userName: name, role } = context.input;
    return runPutUser(context, { name, ...defined({ role }), mustExist: true });
  },
});

function changesNothing(
  input: Readonly<Record<"role" | "password" | "passwordFile" | "passwordGenerate", unknown>>,
) {
  return !input.role && !input.password && !input.passwordFile && !input.passwordGenerate;
}
