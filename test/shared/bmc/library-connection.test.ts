import { expect, it } from "vitest";
import { Connection, type ConnectionInput } from "../../../shared/bmc/library-connection.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";

it("has the defaults, and secrets that cannot be printed", () => {
  const connection = Connection.parse({ host: "192.0.2.11", username: "admin", password: "calvin" });

  expect(connection).toMatchObject({ providers: ["redfish", "ipmi"], redfish: { scheme: "https" } });
  expect(JSON.stringify(connection)).not.toContain("calvin");
});

it("lists its problems, a line each, as one error of class usage", () => {
  const given: ConnectionInput = {
    host: "192.0.2.11",
    // @ts-expect-error: no such provider
    providers: ["redfsh"],
    redfish: { port: 0 },
  };
  // @ts-expect-error: no such key
  const misspelt: ConnectionInput = { ...given, pasword: "calvin" };

  const parse = () => Connection.parse(misspelt);

  expect(parse).toThrow(BmcError);
  expect(parse).toThrow(
    expect.objectContaining({
      class: "usage",
      message: expect.stringMatching(/^.*providers.*$/m),
    }),
  );
  expect(parse).toThrow(/^pasword is not known, did you mean password\?$/m);
  expect(parse).toThrow(/^redfish\.port is not a port, 1 to 65535$/m);
  expect(parse).not.toThrow(/calvin/);
});
