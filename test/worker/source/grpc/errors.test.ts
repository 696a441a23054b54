import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { TimeoutReached } from "../../../../shared/timeout.ts";
import {
  acknowledgementOfError,
  failedPollOfError,
  pollOfError,
} from "../../../../worker/source/grpc/errors.ts";
import { PreconditionFailureSchema } from "../../../../worker/source/tink/gen/precondition_failure_pb.ts";

const ALL_CODES = Object.values(Code).filter((code) => typeof code === "number");
const IDLE = [Code.NotFound, Code.FailedPrecondition, Code.DeadlineExceeded];
const REJECTED = [
  Code.InvalidArgument,
  Code.NotFound,
  Code.Unimplemented,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
];

describe("pollOfError", () => {
  it.each(ALL_CODES.filter((code) => !IDLE.includes(code)).map((code) => [Code[code], code] as const))(
    "reads %s as a failure with the code's name",
    (name, code) => {
      expect(pollOfError(new ConnectError("why", code))).toEqual({
        kind: "failed",
        code: name,
        reason: "why",
      });
    },
  );

  it.each(IDLE.map((code) => [Code[code], code] as const))("reads %s as nothing to do", (_, code) => {
    expect(pollOfError(new ConnectError("no Workflows found", code))).toEqual({
      kind: "idle",
      reason: "no Workflows found",
    });
  });

  it("reads the detail that no action is available as nothing to do, whatever the code", () => {
    const violations = [{ type: "PRECONDITION_FAILURE_VIOLATION_NO_ACTION_AVAILABLE" }];
    const detail = { desc: PreconditionFailureSchema, value: { violations } };
    const error = new ConnectError("nothing", Code.Unavailable, undefined, [detail]);

    expect(pollOfError(error)).toEqual({ kind: "idle", reason: "nothing" });
  });

  it("reads another violation as the failure that it is", () => {
    const detail = { desc: PreconditionFailureSchema, value: { violations: [{ type: "TOS" }] } };
    const error = new ConnectError("sign first", Code.Unavailable, undefined, [detail]);

    expect(pollOfError(error)).toMatchObject({ kind: "failed", code: "Unavailable" });
  });

  it("reads its own deadline as nothing to do", () => {
    expect(pollOfError(new TimeoutReached(75_000))).toMatchObject({ kind: "idle" });
  });

  it("keeps a reason on one line and within bounds", () => {
    const { reason } = pollOfError(
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

    expect(pollOfError(error).reason).toBe("connect ECONNREFUSED ::1; connect ECONNREFUSED 127.0.0.1");
  });
});

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
  ])("tells by %j that the workflow is missing", (message) => {
    expect(acknowledgementOfError(new ConnectError(message, Code.Internal))).toMatchObject({
      kind: "retry",
      missing: true,
    });
  });

  it.each([
    "error writing report status: conflict",
    "error getting workflows: timeout",
    "error getting workflow: failed to get workflow default/w: etcdserver: request timed out",
    "not found",
  ])("takes %j for a failure of the store", (message) => {
    expect(acknowledgementOfError(new ConnectError(message, Code.Internal))).not.toHaveProperty("missing");
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
  ])("is the cause alone: %j", (message, reason) => {
    expect(failedPollOfError(new ConnectError(message, Code.Unavailable))).toMatchObject({ reason });
    expect(acknowledgementOfError(new ConnectError(message, Code.Unavailable))).toMatchObject({ reason });
  });
});
