import { expect, it, vi } from "vitest";
import { UserRole } from "../../../../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { PowerAction } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { direct, failure, pbnjLab } from "./pbnj-lab.ts";

const PASSWORD = "canary-bmc-7f2c";
const USER = "canary-admin-19";
const NEW_PASSWORD = "canary-new-3b8e";
const WRONG = "canary-wrong-55d1";

it("keeps the secrets of requests off the disk and out of the log, while and after actions run", async () => {
  await using lab = await pbnjLab({
    machine: { power: "off", powerOnMs: "held" },
    redfish: { profile: "dell-idrac9", username: USER, password: PASSWORD },
    argv: ["--log-level", "debug"],
  });
  await using pbnj = await lab.start();
  const authn = direct(PASSWORD, USER);
  const userCreds = { username: "eve", password: NEW_PASSWORD, userRole: UserRole.ADMIN };

  const wrong = pbnj.ended(
    pbnj.machine.power({ authn: direct(WRONG, USER), powerAction: PowerAction.STATUS }),
  );
  expect(await failure(wrong)).toMatchObject({ code: "PermissionDenied" });
  await pbnj.ended(pbnj.bmc.createUser({ authn, userCreds }));
  expect(lab.redfish.accounts.find("eve")?.password).toBe(NEW_PASSWORD);
  const on = pbnj.machine.power({ authn, powerAction: PowerAction.ON });
  await vi.waitFor(() => expect(lab.machine.power).toBe("powering-on"), { timeout: 10_000 });
  const found = () => Promise.all([PASSWORD, USER, NEW_PASSWORD, WRONG].map((text) => lab.filesWith(text)));

  expect((await found()).flat()).toEqual([]);
  lab.machine.finishPowerOn();
  await pbnj.ended(on);
  expect((await found()).flat()).toEqual([]);
  expect(await lab.filesWith("eve")).not.toEqual([]);
  const logged = JSON.stringify(pbnj.worker.log);
  expect([PASSWORD, NEW_PASSWORD, WRONG].filter((text) => logged.includes(text))).toEqual([]);
});
