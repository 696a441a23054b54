import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { loadAction } from "../../../../actions/catalogue.ts";
import { readInput } from "../../../../actions/harness/input/read-input.ts";
import { runAction } from "../../../../actions/harness/run/run-action.ts";
import { recordBmc } from "../../../../shared/bmc/recording/record-bmc.ts";
import { Connection, serialiseConnection } from "../../../../shared/contract/connection.ts";
import { silentLogger } from "../../../../shared/logger.ts";
import { Anonymiser } from "../../../../shared/recording/anonymise.ts";
import { type Recording, recordingText } from "../../../../shared/recording/recording.ts";
import { redactor } from "../../../../shared/secret-forms.ts";
import { fault } from "../../../../simulators/amt/answers.ts";
import { type AmtDeviceOptions, startAmtDevice } from "../../../../simulators/amt/device.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startRecording } from "../../../../simulators/recorded/start-recording.ts";
import { startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { redfishProfiles } from "../../../../simulators/redfish/profiles.ts";
import { redfishConnection } from "../../../support/bmc-lab.ts";
import { recordAction } from "../../../support/recorded-action.ts";

const PASSWORD = "canary-login-5f1e";
/** One of each kind that a BMC may show, and where. */
const SECRETS: Readonly<Record<string, unknown>> = {
  SHA256Password: "canary-hash-9d27c1",
  AgentCommunityName: "canary-community-41",
  PrivateKey: "-----BEGIN PRIVATE KEY-----\ncanary-private-77\n-----END PRIVATE KEY-----",
  ApiToken: "canary-token-aa31",
  LicenseKey: "CANARY-LICEN-SE123",
  "LDAP.1.BindPassword": "canary-bind-b2",
  SSHAuthorizedKey: "ssh-ed25519 AAAAcanaryssh someone@host",
  Attributes: { AdminPassword: "canary-bios-c3", "Users.2.IPMIKey": "canary-ipmi-d4" },
  Nested: { Tokens: ["canary-list-e5"], Credentials: { Value: "canary-deep-f6" } },
};
const COPIES = {
  Description: "The community is canary-community-41, set with canary-token-aa31",
  Oem: { Contoso: { Whatever: "canary-unknown-field-99", Url: "https://svc:canary-url-18@files.example/x" } },
};
/** What of them must be nowhere, in any notation that the redactor does not know. */
const CANARY = /canary|Y2FuYXJ5|63616e617279/i;

const profiles = Object.keys(redfishProfiles);
/** 20 of them: each profile, and then again without basic authentication. */
const cases = Array.from({ length: 20 }, (_, index) => ({
  profile: profiles[index % profiles.length] ?? "generic",
  auth: index < profiles.length ? "basic" : "session",
}));
const trees = new Map<string, Recording["resources"]>();
const options = {
  limits: { requests: 2_000, bytes: 20_000_000, ms: 60_000 },
  log: silentLogger,
  progress: () => undefined,
};

async function rawTree(profile: string): Promise<Recording["resources"]> {
  const bmc = await startRedfishBmc({ profile, machines: [new SimulatedMachine()], tls: "http" });
  const reading = await recordBmc(Connection.parse(redfishConnection(bmc.port)), {
    ...options,
    signal: AbortSignal.timeout(60_000),
  });
  await bmc.close();
  return Object.fromEntries(reading.tree?.resources ?? []);
}

beforeAll(async () => {
  for (const { profile } of cases) if (!trees.has(profile)) trees.set(profile, await rawTree(profile));
}, 120_000);

describe("a recording of an Intel AMT device", () => {
  const reference = (of: string, InstanceID: string) => ({ of, keys: { InstanceID } });
  const instances = {
    CIM_AssociatedPowerManagementService: [
      { PowerState: 2, HostName: "canary-host", UserOfService: reference("CIM_X", "canary-service-1") },
    ],
    AMT_BootSettingData: [
      {
        ...{ InstanceID: "Intel(r) AMT:BootSettingData 0", BIOSSetup: "true", BootMediaIndex: 0 },
        ...{ RSEPassword: "canary-rse-1", UefiBootParametersArray: "Y2FuYXJ5LXVlZmktYm9vdA==" },
        ...{ OwnerCredential: "Intel(r) AMT canary-firmware-like", Whatever: "canary-unknown-field-99" },
        ...{ Description: "The password is canary-rse-1", Tokens: ["canary-list-e5"], Pin: 73_519 },
        ...{ ElementName: "Intel(r) AMT boot settings", AssetTag: "canary-asset-12" },
      },
    ],
    CIM_ElementSettingData: [
      { IsNext: 1, SettingData: reference("CIM_WiFiEndpointSettings", "Intel(r) AMT canary-wifi") },
      { IsNext: 3, SettingData: reference("CIM_BootConfigSetting", "Intel(r) AMT: Boot Configuration 0") },
    ],
  };

  async function start(options: AmtDeviceOptions) {
    const machine = new SimulatedMachine();
    const device = await startAmtDevice({
      ...{ machine, username: "canary-user", password: PASSWORD, tls: "http", instances, ...options },
    });
    onTestFinished(() => device.close());
    const { port } = device.http;
    const login = { host: "127.0.0.1", username: "canary-user", password: PASSWORD, providers: ["amt"] };
    return { device, connection: Connection.parse({ ...login, amt: { port, scheme: "http" } }) };
  }

  it("holds no secret, and of associations only those of the boot", async () => {
    const refused = fault("AccessDenied", `The user canary-user with ${PASSWORD} may not`);
    const { connection } = await start({ refusals: { "Get IPS_OptInService": refused } });

    const reading = await recordBmc(connection, { ...options, signal: AbortSignal.timeout(60_000) });
    const recording = reading.anonymous(new Anonymiser(redactor({ connection })), connection);
    const text = recordingText(recording);

    expect(text).not.toMatch(CANARY);
    expect(text).not.toContain("73519");
    expect(recording.amt?.classes).toMatchObject({
      AMT_BootSettingData: [{ BIOSSetup: "true", BootMediaIndex: "0", RSEPassword: null }],
      CIM_ElementSettingData: [
        {
          SettingData: {
            of: "CIM_BootConfigSetting",
            keys: { InstanceID: "Intel(r) AMT: Boot Configuration 0" },
          },
        },
      ],
    });
    expect(recording.amt?.refused).toMatchObject({ "Get IPS_OptInService": { subcode: "AccessDenied" } });
  });

  it("has each message of an action, and neither a secret nor the login in them", async () => {
    const { device, connection } = await start({ usesOfNonce: 3 });
    const env = { BMC_CONNECTION_FILE: "-" };

    const { recording, text } = await recordAction("set-pxe-once", env, {
      stdin: serialiseConnection(connection),
      beforeAction: () => {
        device.script("SetBootConfigRole", fault("canary-rse-1", `canary-user with ${PASSWORD} may not`));
      },
    });

    const { exchanges = [] } = recording;
    expect(exchanges.map(({ sent }) => Object(sent?.body).action)).toEqual(
      expect.arrayContaining(["Get", "Put", "ChangeBootOrder", "SetBootConfigRole"]),
    );
    expect(exchanges.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 400, 401]));
    expect(exchanges.find(({ status }) => status === 401)?.headers).toMatchObject({
      "www-authenticate": expect.stringMatching(/^Digest (stale="\w+" )?qop="auth"$/),
    });
    expect(text).not.toMatch(CANARY);
    expect(text).not.toMatch(/73519|nonce|realm|"authorization"/i);
  });
});

describe("a recording holds no secret", () => {
  it.each(cases)("of $profile with $auth login", async ({ profile, auth }) => {
    const planted = Object.entries(trees.get(profile) ?? {}).map(([path, body]) => [
      path,
      Array.isArray(Object(body).Members)
        ? body
        : { ...SECRETS, ...Object(body), ...COPIES, Leaked: SECRETS },
    ]);
    await using bmc = await startRecording(
      { resources: Object.fromEntries(planted) },
      { username: "admin", password: PASSWORD, tls: "http" },
    );
    const connection = redfishConnection(bmc.redfish.port, {
      password: PASSWORD,
      redfish: { port: bmc.redfish.port, scheme: "http", auth },
    });
    const signal = AbortSignal.timeout(60_000);
    const action = await loadAction("create-user");
    if (!action) throw new Error("there is no such action");
    const read = await readInput(action, {
      env: { BMC_CONNECTION_FILE: "-", USER_NAME: "eve", ROLE: "operator", PASSWORD: "canary-new-user-1" },
      flags: {},
      stdin: async function* () {
        yield Buffer.from(JSON.stringify(connection));
      },
      signal,
    });
    if (!read.ok) throw new Error(read.problems.join());

    const reading = await recordBmc(read.input.connection, { ...options, signal });
    await runAction(action, read.input, { signal, log: silentLogger, tap: reading.wire });
    const anonymiser = new Anonymiser(redactor({ username: "admin", ...read.input }));
    const recording = reading.anonymous(anonymiser, read.input.connection);
    const text = recordingText(recording);

    expect(recording.exchanges?.map(({ request }) => request).join("\n")).toMatch(
      /^(POST|PATCH) .*Accounts/m,
    );
    expect(text).not.toMatch(CANARY);
    expect(text).not.toMatch(/"x-auth-token"|"authorization"|-----BEGIN/i);
    expect(Object.keys(recording.resources).length).toBeGreaterThan(20);
  });
});
