import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { TimeoutReached } from "../../../../shared/timeout.ts";
import { acknowledgementOfError, failedPollOfError } from "../../../../worker/sources/grpc/grpc-errors.ts";

const ALL_CODES = Object.values(Code).filter((code) => typeof code === "number");
const REJECTED = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.Unimplemented,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
];

describe("failedPollOfError", () => {
  it("keeps a reason on one line and within bounds", () => {
    const { reason } = failedPollOfError(
      new ConnectError(`first\nsecond\u0007${"x".repeat(5_000)}`, Code.Internal),
    );

    expect(reason).toMatch(/^first second x+…$/);
    expect(reason.length).toBe(1_000);
  });

  it("finds a reason in the errors of a host's addresses", () => {
    const cause = new AggregateError([
      new Error("connect ECONNREFUSED ::1"),
      new Error("connect ECONNREFUSED 127.0.0.1"),
    ]);
    const error = new ConnectError("", Code.Unavailable, undefined, undefined, cause);

    expect(failedPollOfError(error).reason).toBe("connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1");
  });
});

/** An error that a gRPC server sent, not a proxy with a bare HTTP status. */
const onWire = (message: string, code: Code) =>
  Object.assign(new ConnectError(message, code), { isWireError: true });

describe("acknowledgementOfError", () => {
  it.each(
    ALL_CODES.map((code) => [Code[code], REJECTED.includes(code) ? "rejected" : "retry", code] as const),
  )("reads %s as %s", (name, kind, code) => {
    expect(acknowledgementOfError(new ConnectError("why", code))).toEqual({
      kind,
      code: name,
      reason: "why",
    });
  });

  it.each([
    "error getting workflow: not found",
    'error getting workflow: failed to get workflow default/w: Workflow.tinkerbell.org "w" not found',
    "error reading from backend\nrpc error: code = Internal desc = error getting workflow: not found",
  ])("reads %j as a workflow that is gone, if its cache is not stale", (message) => {
    const answer = acknowledgementOfError(onWire(message, Code.Internal));

    expect(answer).toMatchObject({ kind: "gone", perhapsStale: true });
  });

  it("reads an unknown action as one that is gone, if the server itself says so", () => {
    const unknown = acknowledgementOfError(onWire("action not found", Code.NotFound));
    const other = acknowledgementOfError(new ConnectError("action not found", Code.NotFound));

    expect([unknown.kind, other.kind]).toEqual(["gone", "rejected"]);
  });

  it.each([
    "error writing report status: conflict",
    "error getting workflows: timeout",
    "error getting workflow: failed to get workflow default/w: etcdserver: request timed out",
    "not found",
  ])("reads %j as a failure of the store", (message) => {
    expect(acknowledgementOfError(new ConnectError(message, Code.Internal))).toMatchObject({ kind: "retry" });
  });

  it("retries after its own deadline", () => {
    expect(acknowledgementOfError(new TimeoutReached(1))).toMatchObject({
      kind: "retry",
      code: "DeadlineExceeded",
    });
  });
});

describe("the reason of a connection that failed in TLS", () => {
  it.each([
    [
      "40D7A1B2C37F0000:error:0A00010B:SSL routines:tls_validate_record_header:wrong version number:../a.c:77:",
      "the server does not use TLS",
    ],
    [
      "80E0:error:0A000410:SSL routines:ssl3_read_bytes:sslv3 alert handshake failure:../b.c:908:SSL alert number 40",
      "TLS: sslv3 alert handshake failure",
    ],
    [
      "self-signed certificate; if the root CA is installed locally, try running Node.js with --use-system-ca",
      "self-signed certificate",
    ],
    ["certificate has expired", "certificate has expired"],
  ])("is only the cause: %j", (message, reason) => {
    expect(failedPollOfError(new ConnectError(message, Code.Unavailable))).toMatchObject({ reason });
    expect(acknowledgementOfError(new ConnectError(message, Code.Unavailable))).toMatchObject({ reason });
  });
});
