import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { TimeoutReached } from "../../../../shared/timeout.ts";
import { PreconditionFailureSchema } from "../../../../worker/sources/tink/gen/precondition_failure_pb.ts";
import { pollOfError } from "../../../../worker/sources/tink/tink-api.ts";

const ALL_CODES = Object.values(Code).filter((code) => typeof code === "number");
const IDLE = [Code.NotFound, Code.FailedPrecondition, Code.DeadlineExceeded];

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

  it.each(IDLE.map((code) => [Code[code], code] as const))("reads %s as idle", (_, code) => {
    expect(pollOfError(new ConnectError("no Workflows found", code))).toEqual({
      kind: "idle",
      reason: "no Workflows found",
    });
  });

  it("reads the detail that no action is available as idle, whatever the code", () => {
    const violations = [{ type: "PRECONDITION_FAILURE_VIOLATION_NO_ACTION_AVAILABLE" }];
    const detail = { desc: PreconditionFailureSchema, value: { violations } };
    const error = new ConnectError("nothing", Code.Unavailable, undefined, [detail]);

    expect(pollOfError(error)).toEqual({ kind: "idle", reason: "nothing" });
  });

  it("reads another violation as a failure", () => {
    const detail = { desc: PreconditionFailureSchema, value: { violations: [{ type: "TOS" }] } };
    const error = new ConnectError("sign first", Code.Unavailable, undefined, [detail]);

    expect(pollOfError(error)).toMatchObject({ kind: "failed", code: "Unavailable" });
  });

  it("reads its own deadline as idle", () => {
    expect(pollOfError(new TimeoutReached(75_000))).toMatchObject({ kind: "idle" });
  });
});
