import { describe, expect, it } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import { ActionRun, resultOf, runAction } from "./action-run.ts";
import { actionLab, eventually, TESTED_PROVIDERS } from "./lab.ts";

/** Far below the waits that are cut short, far above what a slow machine needs to clean up. */
const SOON_MS = 8_000;
/** Keeps an action waiting for a shutdown that never comes. */
const waitForever = { MODE: "soft", SOFT_TIMEOUT: "5m", REDFISH_AUTH: "session" };
const stubborn = { power: "on", softOffMs: "never" } as const;

const openSessions = ({ redfish, ipmi }: Awaited<ReturnType<typeof actionLab>>) =>
  redfish.sessions.count + ipmi.sessions();

describe.concurrent.each(TESTED_PROVIDERS)("via %s", (provider) => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("%s in the middle of a wait ends the action and its session", async (signal, code) => {
    await using lab = await actionLab({ machine: stubborn });
    const action = new ActionRun("power-off", { env: { ...lab.env(provider), ...waitForever } });
    await eventually(() => lab.done().length === 1);
    // The first look after the answer.
    const readings = lab.readings();
    await eventually(() => lab.readings() > readings);
    expect(openSessions(lab)).toBe(1);

    action.kill(signal);
    const ended = await action.ended;

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "cancelled",
      message: expect.stringMatching(
        new RegExp(
          `^cancelled by ${signal}; a change was sent \\d+\\.\\d s before, and the BMC may still carry it out$`,
        ),
      ),
      provider,
    });
    expect(ended).toMatchObject({ code });
    await eventually(() => openSessions(lab) === 0);
    expect(lab.done()).toEqual(["soft-off"]);
  });

  it("a reached TIMEOUT ends the action and its session", async () => {
    await using lab = await actionLab({ machine: stubborn });

    const ended = await runAction("power-off", {
      env: { ...lab.env(provider), ...waitForever, TIMEOUT: "4s" },
    });

    expect(resultOf(ended)).toMatchObject({
      ok: false,
      class: "timeout",
      message: expect.stringMatching(
        /^not finished within 4 s \(TIMEOUT\); a change was sent \d+\.\d s before, /,
      ),
      provider,
    });
    expect(ended.code).toBe(16);
    await eventually(() => openSessions(lab) === 0);
  });
});

it.concurrent("SIGTERM while the input is read ends the action before anything is sent", async () => {
  await using lab = await actionLab();
  const env = { ...lab.env("redfish", "ipmi"), BMC_CONNECTION_FILE: "-" };
  const action = new ActionRun("power-off", { env, stdin: { open: true } });

  action.kill("SIGTERM");
  const ended = await action.ended;

  expect(resultOf(ended)).toMatchObject({ class: "cancelled", message: "cancelled by SIGTERM" });
  expect(ended.code).toBe(143);
  expect(lab.traffic()).toBe(0);
});

it.concurrent("a BMC that does not answer the logout does not hold up the end for long", async () => {
  await using lab = await actionLab();
  lab.redfish.fail({ kind: "silent", method: "DELETE" });

  const env = { ...lab.env("redfish"), REDFISH_AUTH: "session" };
  const ended = await runAction("power-status", { env, clock: systemClock });

  expect(resultOf(ended)).toMatchObject({ ok: true });
  expect(resultOf(ended).durationMs).toBeLessThan(SOON_MS);
  expect(ended.stderr).toContain("BMC session not closed");
});
