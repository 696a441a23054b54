import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ownClockNote } from "../../shared/certificate-clock.ts";
import { failedPollOfError } from "../../worker/sources/grpc/grpc-errors.ts";

const withCode = (code: string, cause?: unknown) => Object.assign(new Error("x", { cause }), { code });
const NOW_MS = Date.parse("2019-05-06T07:08:09Z");

test.each([
  ["an expired certificate", withCode("CERT_HAS_EXPIRED")],
  ["one that is not valid yet, as a cause", new Error("y", { cause: withCode("CERT_NOT_YET_VALID") })],
])("the note names this host's clock for %s", (_, error) => {
  expect(ownClockNote(error, NOW_MS)).toBe("; this host's clock says 2019-05-06: correct it if it is wrong");
});

test("other errors have no note", () => {
  expect(ownClockNote(withCode("DEPTH_ZERO_SELF_SIGNED_CERT", withCode("ECONNRESET")))).toBe("");
  expect(ownClockNote("CERT_HAS_EXPIRED")).toBe("");
});

test("the tink server's reason has the note", () => {
  const expired = new ConnectError(
    "certificate has expired",
    Code.Unavailable,
    undefined,
    undefined,
    withCode("CERT_HAS_EXPIRED"),
  );

  expect(failedPollOfError(expired).reason).toMatch(
    /^certificate has expired; this host's clock says \d{4}-/,
  );
});
