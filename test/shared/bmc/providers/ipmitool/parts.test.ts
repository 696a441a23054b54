import { describe, expect, it } from "vitest";
import type { CommandChannel } from "../../../../../shared/bmc/providers/ipmi/commands/channel.ts";
import {
  chassisControl,
  GET_CHASSIS_STATUS,
} from "../../../../../shared/bmc/providers/ipmi/commands/chassis.ts";
import type { Command } from "../../../../../shared/bmc/providers/ipmi/commands/command.ts";
import { setUserPassword } from "../../../../../shared/bmc/providers/ipmi/commands/users.ts";
import { ipmitoolInvocation } from "../../../../../shared/bmc/providers/ipmitool/argv.ts";
import {
  essenceOf,
  failureOf,
  parseRawOutput,
  parseRefusal,
  refusesSuite,
} from "../../../../../shared/bmc/providers/ipmitool/failure.ts";
import { withFreshAnswer } from "../../../../../shared/bmc/providers/ipmitool/ipmitool-provider.ts";
import { ipmitoolSecrets } from "../../../../../shared/bmc/providers/ipmitool/secrets.ts";
import { systemClock } from "../../../../../shared/clock.ts";
import { Connection } from "../../../../../shared/contract/connection.ts";
import { Secret } from "../../../../../shared/secret.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";

function connection(overrides: Record<string, unknown> = {}): Connection {
  return Connection.parse({ host: "bmc1", username: "admin", password: "calvin", ...overrides });
}

/** What ipmitool 1.8.19 prints with `-v` before anything else, and about every BMC without PICMG. */
const CHATTER = `Loading IANA PEN Registry...
Running Get VSO Capabilities my_addr 0x20, transit 0, target 0x20
Invalid completion code received: Invalid command
Discovered IPMB address 0x0
RAW REQ (channel=0x0 netfn=0x0 lun=0x0 cmd=0x8 data_len=2)
RAW REQUEST (2 bytes)
 03 08
`;

/** The run for a command of a connection with these options. */
function invocationOf(suite: 3 | 17, command: Command, overrides: Record<string, unknown> = {}) {
  const to = connection(overrides);
  return ipmitoolInvocation(to, ipmitoolSecrets(to), suite, command);
}

describe("the arguments", () => {
  it("name the BMC, the user, the suite and the command, and no secret", () => {
    const { argv } = invocationOf(17, chassisControl("on"), { ipmitool: { kg: "bmc key" } });

    expect(argv.join(" ")).toBe(
      "-I lanplus -H bmc1 -p 623 -U admin -f /dev/fd/3 -Y -N 1 -R 3 -L OPERATOR -C 17 -v raw 0x00 0x02 0x01",
    );
  });

  it("follow port, privilege level and suite, and leave the BMC key out where there is none", () => {
    const options = { ipmitool: { port: 9623, privilege: "administrator" } };
    const { argv, input } = invocationOf(3, GET_CHASSIS_STATUS, options);

    expect(argv.join(" ")).toBe(
      "-I lanplus -H bmc1 -p 9623 -U admin -f /dev/fd/3 -N 1 -R 3 -L ADMINISTRATOR -C 3 -v raw 0x00 0x01",
    );
    expect(input).toBeUndefined();
  });

  it.each(["cycle", "reset"] as const)("let the program send %s one single time", (command) => {
    const { argv } = invocationOf(17, chassisControl(command));

    expect(argv.join(" ")).toContain("-N 5 -R 1 ");
  });
});

describe("the secrets", () => {
  it("are lines of a file and of standard input, the BMC key with any bytes", () => {
    const { files, input } = invocationOf(17, GET_CHASSIS_STATUS, { ipmitool: { kg: "0x62ff0d" } });

    expect(files).toEqual(["calvin\n"]);
    expect(input).toEqual(Buffer.of(0x62, 0xff, 0x0d, 0x0a));
  });

  it("have an empty line for a user without a password", () => {
    expect(invocationOf(17, GET_CHASSIS_STATUS, { password: undefined }).files).toEqual(["\n"]);
  });

  it.each([
    ["the BMC key", { ipmitool: { kg: "0x6200" } }],
    ["the BMC key", { ipmitool: { kg: "0x620a" } }],
    ["the password", { password: "tab\there" }],
    ["the password", { password: "line\nend" }],
  ])("are unsupported where the program would stop in the middle of %s", (_, overrides) => {
    expect(() => ipmitoolSecrets(connection(overrides))).toThrow(
      expect.objectContaining({ class: "unsupported", message: expect.stringContaining("ipmi provider") }),
    );
  });

  it("are refused where the program would cut the password", () => {
    expect(() => ipmitoolSecrets(connection({ password: "twenty-one-bytes-long" }))).toThrow(
      expect.objectContaining({ class: "usage" }),
    );
  });
});

describe("the output of raw", () => {
  it.each([
    [" 61 00 00\n", "610000"],
    ["\n", ""],
    ["", ""],
    [" 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n 10\n", "000102030405060708090a0b0c0d0e0f10"],
  ])("%j is bytes", (stdout, hex) => {
    expect(parseRawOutput(stdout).toString("hex")).toBe(hex);
  });

  it.each(["Chassis Power is on", " 61 0", "61 zz"])("%j is a protocol error", (stdout) => {
    expect(() => parseRawOutput(stdout)).toThrow(expect.objectContaining({ class: "protocol" }));
  });

  it("names the completion code of a refusal", () => {
    const refused =
      "Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x2 rsp=0xd5): Command not";
    const silent = "Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x2)";

    expect(parseRefusal(CHATTER + refused)).toBe(0xd5);
    expect(parseRefusal(CHATTER + silent)).toBeUndefined();
  });

  it("is distinguished from the chatter beside it", () => {
    expect(essenceOf(`Key: ${CHATTER}> RAKP 2 HMAC is invalid\n\nError: Unable\n`)).toBe(
      "> RAKP 2 HMAC is invalid; Error: Unable",
    );
  });
});

describe("a failure", () => {
  const NO_SESSION = "Error: Unable to establish IPMI v2 / RMCP+ session\n";

  it.each([
    ["> RAKP 2 HMAC is invalid", "auth", "wrong password"],
    ["> RAKP 4 message has invalid integrity check value", "auth", "BMC key"],
    ["RAKP 2 message indicates an error : unauthorized name", "auth", "unknown user"],
    ["RAKP 2 message indicates an error : unauthorized role requested", "auth", "privilege level"],
    ["RAKP 4 message indicates an error : invalid integrity check value", "auth", "wrong password"],
    ["RAKP 2 message indicates an error : insufficient resources for role", "busy", "slot"],
    ["Error in open session response message : insufficient resources for session", "busy", "slot"],
    ["Error in open session response message : no matching cipher suite", "unsupported", "cipher suite"],
    ["Error in open session response message : invalid authentication algorithm", "unsupported", "cipher"],
    ["Error in open session response message : invalid role", "unsupported", "privilege level"],
    ["Unsupported cipher suite ID : 17", "unsupported", "version of ipmitool"],
    ["Authentication algorithm 0x01 is not what we requested 0x03", "unsupported", "cipher suite"],
    ["Error issuing Get Channel Authentication Capabilities request", "unreachable", "no IPMI answer"],
    ["Set Session Privilege Level to OPERATOR failed: Unknown (0x81)", "auth", "may not rise"],
    ["Address lookup for bmc.invalid failed\nCould not open socket!", "unreachable", "unknown"],
    ["> Error: no response from RAKP 1 message", "timeout", "not established"],
  ])("%j is %s", (line, errorClass, reason) => {
    const error = failureOf(chassisControl("on"), `Loading IANA PEN Registry...\n${line}\n${NO_SESSION}`);

    // Without a session the command was never sent.
    expect(error).toMatchObject({ class: errorClass, uncertain: false });
    expect(error.message).toContain(reason);
    expect(error.message).not.toContain("IANA");
  });

  it("to get an answer is uncertain for a write and not for a read", () => {
    const stderr = `${CHATTER}Unable to send RAW command (channel=0x0 netfn=0x0 lun=0x0 cmd=0x2)\n`;

    expect(failureOf(chassisControl("cycle"), stderr)).toMatchObject({ class: "timeout", uncertain: true });
    expect(failureOf(GET_CHASSIS_STATUS, stderr)).toMatchObject({ class: "bmc", uncertain: false });
  });

  it.each([
    ["IW007", "Error in open session response message : no matching cipher suite", true],
    ["IW008", "Integrity algorithm 0x01 is not what we requested 0x04", true],
    ["IW189", "Error in open session response message : invalid role", true],
    ["IW190", "Unsupported cipher suite ID : 17", true],
    ["IW003", "RAKP 2 message indicates an error : unauthorized name", true],
    ["IW003", "RAKP 2 message indicates an error : unauthorized role requested", true],
    ["IW041", "Error in open session response message : insufficient resources", false],
    ["a wrong password", "> RAKP 2 HMAC is invalid", false],
  ])("calls for the next suite if it is of one: %s, %j", (_, stderr, expected) => {
    expect(refusesSuite(stderr)).toBe(expected);
  });
});

describe("a command that holds a secret", () => {
  const command = setUserPassword(3, new Secret("canary"));

  it("is read from a file, and nothing prints it", () => {
    const { argv, files } = invocationOf(17, command);

    expect(argv.slice(-2)).toEqual(["exec", "/dev/fd/4"]);
    expect(argv).not.toContain("-v");
    expect(files[1]).toMatch(/^raw 0x06 0x47 0x03 0x02 0x63 0x61 0x6e 0x61 0x72 0x79( 0x00){10}\n$/);
  });
});

describe("a controller behind the BMC", () => {
  it("is reached with the program's own options", () => {
    const options = { ipmitool: { bridge: { channel: 7, address: 0x72 } } };

    const { argv } = invocationOf(3, GET_CHASSIS_STATUS, options);

    expect(argv.join(" ")).toContain("-C 3 -b 7 -t 0x72 -v raw 0x00 0x01");
  });
});

describe("the answer that opening has brought", () => {
  const answer = { command: GET_CHASSIS_STATUS, completionCode: 0, data: Buffer.of(1) };

  function channelThatCounts() {
    const asked: string[] = [];
    const channel: CommandChannel = {
      run: async (commands) => {
        asked.push(...commands.map(({ name }) => name));
        return commands.map((command) => ({ ...answer, command }));
      },
    };
    return { asked, channel };
  }

  it("serves the first read of the same and no other one", async () => {
    const { asked, channel } = channelThatCounts();
    const fresh = withFreshAnswer(channel, answer, systemClock);

    await fresh.run([GET_CHASSIS_STATUS], AbortSignal.timeout(1_000));
    expect(asked).toEqual([]);
    await fresh.run([GET_CHASSIS_STATUS], AbortSignal.timeout(1_000));
    expect(asked).toEqual(["Get Chassis Status"]);
  });

  it("is dropped by another command, and when it is no longer fresh", async () => {
    const { asked, channel } = channelThatCounts();
    const afterAnother = withFreshAnswer(channel, answer, systemClock);
    const stale = withFreshAnswer(channel, answer, scaledClock(1_000));

    await afterAnother.run([chassisControl("on")], AbortSignal.timeout(1_000));
    await afterAnother.run([GET_CHASSIS_STATUS], AbortSignal.timeout(1_000));
    await systemClock.sleep(20);
    await stale.run([GET_CHASSIS_STATUS], AbortSignal.timeout(1_000));

    expect(asked).toEqual([chassisControl("on").name, "Get Chassis Status", "Get Chassis Status"]);
  });
});
