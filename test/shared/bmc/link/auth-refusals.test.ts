import { describe, expect, it } from "vitest";
import { statusError } from "../../../../shared/bmc/http/status-error.ts";
import { checkReturnValue } from "../../../../shared/bmc/providers/amt/fault.ts";
import { parseXml } from "../../../../shared/bmc/providers/amt/xml.ts";
import { setSessionPrivilege } from "../../../../shared/bmc/providers/ipmi/commands/command.ts";
import { completionError } from "../../../../shared/bmc/providers/ipmi/commands/completion-code.ts";
import { handshakeError } from "../../../../shared/bmc/providers/ipmi/session/handshake-status.ts";
import { failureOf } from "../../../../shared/bmc/providers/ipmitool/failure.ts";
import { answerError } from "../../../../shared/bmc/providers/redfish/service/errors.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";

const command = setSessionPrivilege("administrator");
const http = (status: number) =>
  statusError({ status, headers: {}, body: Buffer.alloc(0) }, "asking", "", { effect: undefined, nowMs: 0 });
const redfish = (status: number, messageId = "Base.1.8.GeneralError") =>
  answerError(
    { status, headers: {}, path: "/redfish/v1/Systems", body: { error: { code: messageId, message: "m" } } },
    { method: "GET", path: "/redfish/v1/Systems" },
    0,
  );

function thrownBy(work: () => void): unknown {
  try {
    work();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}

describe("an error of class auth", () => {
  it.each([
    ["an IPMI user that is unknown", handshakeError("RAKP1", 0x0d)],
    ["an IPMI password that is wrong", handshakeError("RAKP3", 0x0f)],
    ["what ipmitool says of a wrong password", failureOf(command, "RAKP 2 HMAC is invalid")],
    ["HTTP 401", http(401)],
    ["Redfish 401", redfish(401)],
    ["Redfish 401 that calls it a privilege", redfish(401, "Base.1.8.InsufficientPrivilege")],
    ["a login that iLO answers with 400", redfish(400, "iLO.2.14.UnauthorizedLoginAttempt")],
  ])("is about the login after %s", (_, error) => {
    expect(error).toMatchObject({ class: "auth", refused: "login" });
  });

  it.each([
    ["an IPMI level that the user may not have", handshakeError("RAKP1", 0x0a)],
    ["an IPMI command that needs a higher level", completionError(command, 0xd4)],
    ["an IPMI level that the channel does not allow", completionError(command, 0x81)],
    ["what ipmitool says of a role", failureOf(command, "message indicates an error : unauthorized role")],
    ["HTTP 403", http(403)],
    ["Redfish 403", redfish(403)],
    ["a privilege that Redfish misses with 400", redfish(400, "Base.1.8.InsufficientPrivilege")],
    [
      "an AMT device without its user's consent",
      thrownBy(() =>
        checkReturnValue(parseXml("<O><ReturnValue>6</ReturnValue></O>"), "setting", {
          "6": ["access denied", "auth"],
        }),
      ),
    ],
  ])("is about a right after %s", (_, error) => {
    expect(error).toMatchObject({ class: "auth", refused: "right" });
  });

  it("keeps what it was about when it is passed on, and is about the login in doubt", () => {
    const right = new BmcError("auth", "m", { refused: "right" });

    expect(new BmcError("auth", "redfish: m", { cause: right }).refused).toBe("right");
    expect(new BmcError("auth", "m").refused).toBe("login");
    expect(new BmcError("auth", "m", { cause: new Error("x") }).refused).toBe("login");
    expect(new BmcError("busy", "m", { cause: right }).refused).toBeUndefined();
  });
});
