import { describe, expect, it } from "vitest";
import { Anonymiser } from "../../../shared/recording/anonymise.ts";
import { StandIns } from "../../../shared/recording/stand-ins.ts";
import { Secret } from "../../../shared/secret.ts";
import { redactor } from "../../../shared/secret-forms.ts";

const redact = redactor({ username: "admin", password: new Secret("calvin-canary-83d1c2") });

function anonymised<T>(value: T): { readonly shown: T; readonly anonymiser: Anonymiser } {
  const anonymiser = new Anonymiser(redact, { standIns: new StandIns(Buffer.alloc(32, 7)) });
  anonymiser.collect(value);
  return { shown: anonymiser.value(value) as T, anonymiser };
}

describe("what identifies is replaced", () => {
  it.each([
    ["SerialNumber", "CZ1234-AB", /^[A-Z]{2}\d{4}-[A-Z]{2}$/],
    ["AssetTag", "rack 7 / unit 12", /^[a-z]{4} \d \/ [a-z]{4} \d\d$/],
    ["MACAddress", "AA:BB:CC:00:11:22", /^02(:[0-9A-F]{2}){5}$/],
    ["UUID", "4c4c4544-0044-5210-8052-b4c04f303032", /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/],
    ["Address", "10.20.30.40", /^192\.0\.2\.1$/],
    ["Address", "2a00:1450:4001:81b::200e", /^2001:db8::/],
    ["HostName", "bmc-7.site.example", /^[a-z]{3}-\d\.[a-z]{4}\.[a-z]{7}$/],
    ["UserName", "jdoe", /^[a-z]{4}$/],
    ["Room", "B12", /^[A-Z]\d\d$/],
    ["LicenseNumber", "1234-5678", /^\d{4}-\d{4}$/],
  ])("in %s, keeping the form of %s", (name, value, form) => {
    const { shown } = anonymised({ [name]: value });

    expect(shown[name]).toMatch(form);
    expect(shown[name]).not.toBe(value);
  });

  it("is the same in a sentence about it as in its field", () => {
    const { shown } = anonymised({ UserName: "operator7", Message: "user operator7 created by 'operator7'" });

    expect(shown.Message).toBe(`user ${shown.UserName} created by '${shown.UserName}'`);
    expect(shown.UserName).not.toBe("operator7");
  });

  it("is the same everywhere in a recording: in paths, names, other fields and other letters", () => {
    const { shown } = anonymised({
      "@odata.id": "/redfish/v1/Chassis/QZ12345",
      SerialNumber: "QZ12345",
      Name: "Chassis QZ12345",
      Oem: { Contoso: { Details: { Hint: "qz12345", ChassisModel: "Model for QZ12345" } } },
    });

    expect(shown["@odata.id"]).toBe(`/redfish/v1/Chassis/${shown.SerialNumber}`);
    expect(shown.Name).toBe(`Chassis ${shown.SerialNumber}`);
    expect(JSON.stringify(shown).toLowerCase()).not.toContain("qz12345");
  });

  it("keeps addresses of one network together, and what says nothing of a site", () => {
    const { shown } = anonymised({
      Address: "10.1.1.7",
      Gateway: "10.1.1.1",
      NameServers: ["10.9.9.9", "0.0.0.0", "127.0.0.1"],
      SubnetMask: "255.255.255.0",
      FirmwareVersion: "1.20.50.52",
    });

    expect(shown).toEqual({
      Address: "192.0.2.1",
      Gateway: "192.0.2.2",
      NameServers: ["198.51.100.1", "0.0.0.0", "127.0.0.1"],
      SubnetMask: "255.255.255.0",
      FirmwareVersion: "1.20.50.52",
    });
  });

  it("also names of accounts in paths and users in messages", () => {
    const { shown } = anonymised({
      "@odata.id": "/redfish/v1/AccountService/Accounts/jdoe",
      Message: "User jdoe logged in from 10.1.1.7 using REST, host backup-3",
    });

    expect(JSON.stringify(shown)).not.toMatch(/jdoe|10\.1\.1\.7|backup-3/);
    expect(shown.Message).toMatch(/logged in from/);
  });
});

describe("secrets", () => {
  it.each([
    ["Password", "canary-one"],
    ["SHA256Password", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
    ["Token", "canary-token"],
    ["SNMP.1.AgentCommunity", "canary-community"],
    ["EncryptionKey", "canary-key"],
    ["CertificateString", "-----BEGIN CERTIFICATE-----\ncanary\n-----END CERTIFICATE-----"],
    ["LicenseKey", "CANAR-YCANA-RYCAN"],
    ["Kg", "canary-kg"],
    ["SSHPublicKey", "ssh-rsa canary"],
  ])("in %s are removed, and so are copies elsewhere", (name, secret) => {
    const { shown } = anonymised({
      [name]: secret,
      Description: `the value ${secret} was set`,
      Copies: [secret],
    });

    expect(shown[name]).toBeNull();
    expect(JSON.stringify(shown)).not.toContain(secret);
  });

  it("of the connection are removed in any form", () => {
    const { shown } = anonymised({
      Name: "calvin-canary-83d1c2",
      Model: Buffer.from("admin:calvin-canary-83d1c2").toString("base64"),
    });

    expect(JSON.stringify(shown)).not.toMatch(/calvin|Y2Fsdmlu/);
  });

  it("in unknown fields are masked, and in addresses left out", () => {
    const { shown } = anonymised({
      Oem: { Contoso: { Thingamajig: "hunter2-canary" } },
      Image: "http://jdoe:canary-pw@10.1.1.7/x.iso",
      ImageName: "http://jdoe:canary-pw@files.site.example/x.iso",
    });

    expect(JSON.stringify(shown)).not.toMatch(/canary|hunter2|jdoe|site\.example/);
  });

  it.each([
    "media //files.site.example/share/x.iso inserted",
    "the value files.site.example:/export/x.iso is wrong",
    "mount of '\\\\files.site.example\\share\\x.iso' failed",
    'PATCH {"Image":"files.site.example:/export/x.iso"}',
  ])("%s: a server of a share is no more shown than that of a URL", (text) => {
    const { anonymiser } = anonymised({});

    const shown = anonymiser.text(text);

    expect(shown).not.toContain("site");
    expect(shown.replace(/\S*(\/|\\)\S*/, "")).toBe(text.replace(/\S*(\/|\\)\S*/, ""));
  });

  it("that look like a duration are masked, and durations stay", () => {
    const { shown } = anonymised({ Interval: "PT5M", Part: "P12345678", Other: "PT1M2T3" });

    expect(shown).toMatchObject({ Interval: "PT5M", Part: expect.not.stringMatching(/^P12345678$/) });
    expect(shown.Other).not.toBe("PT1M2T3");
  });

  it("do not take words of specifications with them", () => {
    const tree = {
      PasswordPolicy: "Enabled",
      MaxPasswordLength: 20,
      Actions: {
        "#X.Y": { "ResetType@Redfish.AllowableValues": ["On", "ForceOff"], target: "/redfish/v1/X" },
      },
      Attributes: { BootMode: "Uefi", AdminPasswordState: "Disabled", ProcTurboMode: "Disabled" },
    };

    expect(anonymised(tree).shown).toEqual(tree);
  });
});

it("headers are kept by name, and tags and links lose what they hold", () => {
  const { anonymiser } = anonymised({ SerialNumber: "QZ12345" });

  const shown = anonymiser.headers({
    "content-type": "application/json",
    location: "https://bmc-7.example/redfish/v1/Chassis/QZ12345",
    "x-auth-token": "canary",
    authorization: "Basic canary",
    "set-cookie": "SESSION=canary",
  });

  expect(shown).toEqual({
    "content-type": "application/json",
    location: expect.stringMatching(/^https:\/\/(?!bmc-7)[\w.-]+\/redfish\/v1\/Chassis\/[A-Z]{2}\d{5}$/),
  });
});

it.each([
  ['Basic realm="iLO-CZ1234"', "Basic"],
  [
    'Digest realm="Digest:8F2A", nonce="qop=\\"canary\\"",stale="false",qop="auth-int, auth"',
    'Digest stale="false" qop="auth-int, auth"',
  ],
  ["Canary", ""],
])("of the challenge of a login, %s, the kind is kept, and neither realm nor nonce", (given, shown) => {
  const { anonymiser } = anonymised({});

  expect(anonymiser.headers({ "WWW-Authenticate": given })).toEqual({ "WWW-Authenticate": shown });
});

it("counts what it replaced, by kind", () => {
  const { anonymiser } = anonymised({ SerialNumber: "QZ12345", Password: "x-canary", Copy: "QZ12345" });

  expect(anonymiser.replaced).toEqual({ secret: 1, "serial number": 1 });
});

it("leaves out what is nested too deeply, encoded too often, or more than a machine has", () => {
  const deep = JSON.parse(`${'{"a":'.repeat(5_000)}"canary"${"}".repeat(5_000)}`);
  const { shown, anonymiser } = anonymised({ Deep: deep, Again: `%${"25".repeat(900)}63anary` });
  const full = new Anonymiser(redact, { mostCharacters: 100 });

  const long = full.value({ First: "unknown ".repeat(20), Next: "canary", "/canary/path": 1 });

  expect(JSON.stringify(shown)).not.toContain("canary");
  expect(shown.Again).toMatch(/removed/);
  expect(anonymiser.replaced).toMatchObject({ secret: 1 });
  expect(long).toEqual({ First: "[removed]", "[removed]": "[removed]", "/[removed]": 1 });
});
