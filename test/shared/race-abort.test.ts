import { expect, it } from "vitest";
import { raceAbort } from "../../shared/race-abort.ts";

const never = new Promise<never>(() => undefined);

it("settles as the work does", async () => {
  const { signal } = new AbortController();

  expect(await raceAbort(Promise.resolve(1), signal)).toBe(1);
  await expect(raceAbort(Promise.reject(new Error("broken")), signal)).rejects.toThrow("broken");
});

it("rejects with the signal's reason, before or while the work runs", async () => {
  const controller = new AbortController();
  const racing = raceAbort(never, controller.signal);
  controller.abort(new Error("stopped"));

  await expect(racing).rejects.toThrow("stopped");
  await expect(raceAbort(never, controller.signal)).rejects.toThrow("stopped");
});
