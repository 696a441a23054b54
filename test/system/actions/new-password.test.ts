import { writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { resultOf, runAction } from "../../actions/action-run.ts";
import { eventually, TESTED_PROVIDERS } from "../../actions/lab.ts";
import {
  BMC_PASSWORD,
  envOf,
  expectNoTraceIn,
  fileOf,
  GENERATED,
  inForce,
  moments,
  OLD,
  onDisk,
  passwordLab,
  release,
} from "../../actions/password-lab.ts";
import { ActionProcess } from "./action-process.ts";

describe.concurrent.each(TESTED_PROVIDERS)("a generated password via %s", (provider) => {
  it.each(moments[provider])(
    "is in one of two files when the action is killed $title, and another run converges",
    async ({ isSet, hold }) => {
      await using lab = await passwordLab();
      await writeFile(fileOf(lab), `${OLD}\n`);
      const isHeld = hold(lab);
      const action = new ActionProcess("update-user", { env: envOf(lab, provider) });
      await eventually(isHeld);

      action.child.kill("SIGKILL");
      const killed = await action.ended;
      const afterKill = await onDisk(lab);
      const passwordAfterKill = inForce(lab, provider);
      release(lab);
      const again = await runAction("update-user", { env: envOf(lab, provider) });

      expect(killed.signal).toBe("SIGKILL");
      expect(afterKill).toEqual([`${OLD}\n`, expect.stringMatching(GENERATED)]);
      expect(afterKill[isSet ? 1 : 0]).toBe(`${passwordAfterKill}\n`);
      expect(resultOf(again)).toMatchObject({ ok: true });
      expect(inForce(lab, provider)).toBe(afterKill[1]?.trim());
      expect(await onDisk(lab)).toEqual([afterKill[1], undefined]);
      for (const ended of [killed, again]) expectNoTraceIn(ended, afterKill[1]);
    },
  );

  it.each(moments[provider])(
    "of the user that logs in is in one of two files when the action is killed $title, and another run converges",
    async ({ isSet, hold }) => {
      await using lab = await passwordLab();
      const isHeld = hold(lab);
      // The file that the connection's password comes from, as in a rotation.
      await writeFile(fileOf(lab), `${BMC_PASSWORD}\n`);
      const { BMC_PASSWORD: _, ...others } = envOf(lab, provider, "admin");
      const env = { ...others, BMC_PASSWORD_FILE: fileOf(lab) };
      const action = new ActionProcess("update-user", { env });
      await eventually(isHeld);

      action.child.kill("SIGKILL");
      const killed = await action.ended;
      const afterKill = await onDisk(lab);
      const passwordAfterKill = inForce(lab, provider, "admin");
      release(lab);
      const again = await runAction("update-user", { env });

      expect(afterKill[isSet ? 1 : 0]).toBe(`${passwordAfterKill}\n`);
      expect(resultOf(again)).toMatchObject({ ok: true, changed: !isSet });
      expect(inForce(lab, provider, "admin")).toBe(afterKill[1]?.trim());
      expect(await onDisk(lab)).toEqual([afterKill[1], undefined]);
      for (const ended of [killed, again]) expectNoTraceIn(ended, afterKill[1]);
    },
  );
});
