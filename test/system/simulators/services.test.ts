import { readFile, stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { BmcClient } from "../../../shared/bmc/client.ts";
import { Connection } from "../../../shared/contract/connection.ts";
import { accessFromKubeconfig, ClusterClient } from "../../../simulators/kubernetes/node/cluster-client.ts";
import { testFolder } from "../../support/test-folder.ts";
import { simulate } from "./simulate.ts";

type Facts = Readonly<Record<string, string>>;

const urlOf = ({ url = "" }: Facts) => new URL(url);
const portOf = (facts: Facts) => Number(urlOf(facts).port);

test.each<[string, readonly string[], (facts: Facts) => object, string]>([
  [
    "redfish",
    ["--power", "off", "--profile", "dell-idrac9", "--user", "root", "--password-file", "PASSWORD"],
    (facts) => ({
      ...{ host: "127.0.0.1", username: "root", password: "from-a-file", providers: ["redfish"] },
      ...{ tls: { fingerprint: facts["fingerprint"] }, redfish: { port: portOf(facts) } },
    }),
    "off",
  ],
  [
    "amt",
    ["--power", "off"],
    (facts) => ({
      ...{ host: "127.0.0.1", username: "admin", password: "P@ssw0rd", providers: ["amt"] },
      amt: { port: portOf(facts) },
    }),
    "off",
  ],
  ["rpc", [], (facts) => ({ host: "any", rpc: { url: urlOf(facts).href } }), "on"],
  [
    "homeassistant",
    ["--power", "off", "--entity", "switch.a"],
    (facts) => ({
      ...{ host: "any", password: "token-calvin" },
      homeassistant: { url: urlOf(facts).href, entity: "switch.a" },
    }),
    "off",
  ],
  [
    "ironic",
    ["--power", "off", "--node", "metal-1"],
    (facts) => ({ ironic: { url: urlOf(facts).href, node: "metal-1" } }),
    "off",
  ],
])("%s runs from the command line until it is interrupted", async (name, flags, connection, power) => {
  const { write } = await testFolder();
  const passwordFile = await write("password", "from-a-file\n");
  const { child, lines, ended } = await simulate(
    name,
    ...flags.map((flag) => (flag === "PASSWORD" ? passwordFile : flag)),
  );
  const client = new BmcClient(Connection.parse(connection(lines[0] ?? {})));

  const read = await client.getPower(new AbortController().signal);
  await client.close();
  child.kill("SIGINT");

  expect(read).toBe(power);
  expect(await ended).toEqual([0, null]);
});

test("kubernetes runs from the command line with a kubeconfig for its owner, until it is interrupted", async () => {
  const { path } = await testFolder();
  const file = path("kubeconfig");
  const flags = ["--kubeconfig", file, "--crds", "v1alpha2", "--namespace", "lab"];
  const { child, lines, ended } = await simulate("kubernetes", ...flags);

  const access = accessFromKubeconfig(await readFile(file, "utf8"));
  const client = new ClusterClient(access);
  const namespaces = await client.list("/api/v1/namespaces");
  const workflows = await client.list("/apis/tinkerbell.org/v1alpha2/workflows");
  await client.close();
  const { mode } = await stat(file);
  child.kill("SIGINT");

  expect(lines).toEqual([{ url: access.url, kubeconfig: file }]);
  expect(namespaces.items.map(({ metadata }) => metadata.name)).toEqual(["lab"]);
  expect(workflows.items).toEqual([]);
  expect(mode & 0o777).toBe(0o600);
  expect(await ended).toEqual([0, null]);
});
