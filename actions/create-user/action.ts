import { defineAction } from "../harness/action.ts";
import { checkPassword, passwordInput, userName, userRole } from "../harness/input/user-input.ts";
import { runPutUser } from "../harness/run/run-user.ts";

export default defineAction({
  name: "create-user",
  summary: "Create a BMC user, or set the password and role of an existing one",
  idempotent: true,
  input: { userName, role: userRole({ required: true }), ...passwordInput },
  check: (input, nameInput) => checkPassword(input, nameInput, { required: true }),
  run: (context) => {
    const { userName: name, role } = context.input;
    return runPutUser(context, { name, role });
  },
});
