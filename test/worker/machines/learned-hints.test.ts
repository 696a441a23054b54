import { expect, test } from "vitest";
import { Connection } from "../../../shared/contract/connection.ts";
import { LearnedHints } from "../../../worker/machines/learned-hints.ts";

const entry = (more: Record<string, unknown> = {}) =>
  Connection.parse({ host: "192.0.2.1", username: "root", password: "calvin", ...more });
const HINT = { provider: "ipmi", providers: { ipmi: { cipherSuite: 3 } } };

test("a hint is valid as long as the machine's entry, also with a new password", () => {
  const hints = new LearnedHints();
  hints.find("node-1", entry());
  hints.learn("node-1", HINT);
  hints.learn("node-1", undefined);

  expect(hints.find("node-1", entry())).toBe(HINT);
  expect(hints.find("node-1", entry({ password: "another" }))).toBe(HINT);
  expect(hints.find("node-2", entry())).toBeUndefined();
});

test("a hint of another entry is not used, even if it is learned after the change", () => {
  const hints = new LearnedHints();
  const allowing = entry({ tls: { fallback: true }, ipmi: { allowSuite3: true } });
  hints.find("node-1", allowing);
  hints.learn("node-1", HINT);

  expect(hints.find("node-1", entry())).toBeUndefined();
  hints.find("node-1", allowing);
  hints.learn("node-1", HINT);
  expect(hints.find("node-1", entry())).toBeUndefined();
  expect(hints.find("node-1", allowing)).toBeUndefined();
});
