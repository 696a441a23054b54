import { describe, expect, it } from "vitest";
import { answerError } from "../../../../../shared/bmc/providers/redfish/service/errors.ts";
import { refusal } from "../../../../support/redfish-tree.ts";

const REQUEST = { method: "GET", path: "/redfish/v1/Systems" } as const;

const errorOf = (status: number, id: string) =>
  answerError({ status, headers: {}, path: REQUEST.path, body: refusal(id, "Words.") }, REQUEST, 0);

describe("a message decides by its meaning, whatever the status", () => {
  it.each([
    [400, "IDRAC.1.6.SWC0700", "busy"],
    [400, "IDRAC.2.8.SYS518", "busy"],
    [404, "HpeCommon.2.1.ResourceNotReadyRetry", "busy"],
    [400, "iLO.2.15.ResetInProgress", "busy"],
    [400, "iLO.2.15.UnsupportedOperation", "unsupported"],
    [403, "SMC.1.0.OemLicenseNotPassed", "unsupported"],
    [403, "iLO.2.15.LicenseKeyRequired", "unsupported"],
    [403, "Base.1.18.1.ServiceTemporarilyUnavailable", "auth"],
    [405, "IDRAC.2.9.SWC1908", "auth"],
    [400, "Contoso.1.0.UnsupportedOperation", "bmc"],
    [400, "Contoso.1.0.NotSYS518", "bmc"],
  ])("%i with %s is %s", (status, id, errorClass) => {
    expect(errorOf(status, id).class).toBe(errorClass);
  });

  it("and one that is not known is in the error", () => {
    expect(errorOf(400, "Contoso.1.0.Strange").message).toContain("(Contoso.1.0.Strange)");
  });

  it("a password that must change is no refused login", () => {
    expect(errorOf(400, "IDRAC.2.9.SWC1908").refused).toBe("right");
    expect(errorOf(403, "Base.1.8.PasswordChangeRequired").refused).toBe("right");
    expect(errorOf(401, "Base.1.8.PasswordChangeRequired").refused).toBe("login");
  });
});
