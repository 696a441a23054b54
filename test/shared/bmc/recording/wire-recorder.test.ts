import { expect, it } from "vitest";
import { WireRecorder } from "../../../../shared/bmc/recording/wire-recorder.ts";
import { Anonymiser } from "../../../../shared/recording/anonymise.ts";
import { redactor } from "../../../../shared/secret-forms.ts";

const REASON = "Missing the BootSourceOverrideTarget and/or BootSourceOverrideMode element";

it.each([
  ["the reason of a refusal", 400, REASON, REASON],
  ["not one that has digits", 400, "Wrong password hunter2", ""],
  ["not a page", 500, "<h1>calvin</h1>", ""],
  ["not a long text", 400, "calvin ".repeat(50), ""],
  ["not a text that is no refusal", 200, "the key is calvin", ""],
])("keeps of a body that is no JSON: %s", (_, status, text, kept) => {
  const recorder = new WireRecorder();
  const answer = { status, headers: {}, body: Buffer.from(text) };
  const sent = { method: "PATCH", path: "/redfish/v1/Systems/1", headers: {}, body: undefined };
  recorder.http({ ...sent, startedMs: 0, endedMs: 1, connection: 1, answer });

  const { exchanges } = recorder.anonymous(new Anonymiser(redactor({})));

  expect(exchanges?.[0]?.body).toBe(kept);
});
