import { expect } from "vitest";
import { systemClock } from "../../shared/clock.ts";
import type { Recording } from "../../shared/recording/recording.ts";
import { startRecording } from "../../simulators/recorded/start-recording.ts";
import { resultOf, runAction } from "../actions/action-run.ts";
import { withoutTimes } from "../simulators/recorded/comparable.ts";
import { recordAction } from "../support/recorded-action.ts";
import { type Server, tryEveryAction } from "./compatibility/every-action.ts";

/** The password of the user `admin`, which is part of no command's name: a recording must not contain it. */
export const PEER_PASSWORD = "calvin-83d1c2";
const CONSOLE_MS = 500;

type Environment = Readonly<Record<string, string>>;

interface Ended {
  readonly ok: boolean;
  readonly class?: string | undefined;
  readonly message?: string | undefined;
}

/** What a test of two results compares. */
const shownOf = ({ ok, class: errorClass, message = "" }: Ended) => ({
  ok,
  errorClass,
  message: withoutTimes(message)
    .replaceAll(/\b[a-z]+:\/\/[^\s,]+/g, "a URL")
    .replaceAll(/\b\d+(\.\d+){3}(:| port )\d+/g, "the BMC")
    .replaceAll(/\b\d+(\.\d+){3}\b/g, "an address")
    .replaceAll(/\/tmp\/\S+/g, "a file")
    .replaceAll(/"[^"]*"/g, "a name"),
});

/**
 * Tries every action as `tryEveryAction` does, records each, and runs it again on its recording while the next one runs: both end in
 * the same way. `console`: what the machine's serial port prints again and again, which no recording has.
 */
export async function tryRecordedActions(
  server: Server,
  { console = "" }: { readonly console?: string } = {},
): Promise<Record<string, string>> {
  const replays: Promise<{ readonly name: string; readonly expected: object; readonly found: object }>[] = [];
  const run = async (name: string, env: Environment) => {
    const { recording, result } = await recordAction(name, env);
    const { action = { ok: false } } = recording;
    const replayed = replay(recording, name, env, console);
    replays.push(replayed.then((found) => ({ name, expected: shownOf(action), found: shownOf(found) })));
    return result;
  };

  const outcomes = await tryEveryAction({ ...server, run });

  const both = await Promise.all(replays);
  const ended = (which: "expected" | "found") => both.map((one) => ({ name: one.name, ...one[which] }));
  expect(ended("found")).toEqual(ended("expected"));
  return outcomes;
}

/** Users have the names that the recording has. */
async function replay(
  recording: Recording,
  name: string,
  given: Environment,
  console: string,
): Promise<Ended> {
  await using replayed = await startRecording(recording, { tls: "http" });
  const { username, password, redfish, ipmi, machine } = replayed;
  const printing = setInterval(() => machine.print(console), CONSOLE_MS);
  const own = {
    ...{ BMC_USERNAME: username, BMC_PASSWORD: password },
    ...(ipmi ? { IPMI_PORT: String(ipmi.port) } : { REDFISH_PORT: String(redfish.port) }),
  };
  const [, user] = /^(?:\w+: )?(?:there is no )?user ([^\s:]+)/.exec(recording.action?.message ?? "") ?? [];
  const asked = given["USER_NAME"] === undefined || user === undefined ? {} : { USER_NAME: user };
  try {
    return resultOf(await runAction(name, { env: { ...given, ...own, ...asked }, clock: systemClock }));
  } finally {
    clearInterval(printing);
  }
}
