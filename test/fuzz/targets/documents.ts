import { parseTasks } from "../../../actions/run-tasks/parse-tasks.ts";
import { parseImageReference } from "../../../shared/contract/image-reference.ts";
import { composeYaml } from "../../../shared/document/compose-yaml.ts";
import { parseYaml } from "../../../shared/document/yaml-document.ts";
import { parseDurationMs } from "../../../shared/duration.ts";
import { canonicalHost } from "../../../shared/ip-address.ts";
import { nearestName } from "../../../shared/nearest-name.ts";
import { parseRecording } from "../../../shared/recording/recording.ts";
import { formatTable } from "../../../shared/table.ts";
import { ByteSize, Count, Duration, List, Text } from "../../../worker/document/value-types.ts";
import { readAddress } from "../../../worker/features/cluster-machines/host-address.ts";
import { parseIdentityKubeconfig } from "../../../worker/kubernetes/client/identity-kubeconfig.ts";
import { KubernetesError } from "../../../worker/kubernetes/client/kubernetes-error.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { loadConfig } from "../../../worker/main/load-config.ts";
import { parseNetwork } from "../../../worker/policy/address-rule.ts";
import { parsePolicy } from "../../../worker/policy/parse-policy.ts";
import { parseTemplate } from "../../../worker/template/parse-template.ts";
import { parseWorkflow } from "../../../worker/template/rendered-workflow.ts";
import { substitute } from "../../../worker/template/substitute.ts";
import type { Target } from "../target.ts";

const TEMPLATE = `version: "0.1"
name: power
global_timeout: 600
tasks:
  - name: power
    worker: "{{ .machine }}"
    volumes: [/dev:/dev]
    environment: {MACHINE: one}
    actions:
      - name: off
        image: registry.example/acme/power-off:v1
        timeout: 90
        command: [--mode, hard]
        environment:
          MODE: hard
`;
const INVENTORY = `defaults:
  username: admin
  tls: {verify: false}
machines:
  - name: one
    host: 192.0.2.1
    credentials: {passwordEnv: PASSWORD}
  - name: two
    host: "[2001:db8::1]"
    providers: [redfish, ipmi]
    username: &user root
  - {name: three, host: bmc-3.example, username: *user}
`;
const POLICY = `images: [registry.example/acme/*]
volumes:
  - {source: /dev, readOnly: true}
tenants:
  - {namespaces: [team-a-*], machines: [rack-1-*]}
`;
const KUBECONFIG = `current-context: one
clusters: [{name: c, cluster: {server: "https://c.example:6443"}}]
users: [{name: u, user: {token: abc}}]
contexts: [{name: one, context: {cluster: c, user: u}}]
`;
const CONFIG = "grpcServer: tink.example:42113\nruntime: process\npollInterval: 1m30s\nmachines:\n  - one\n";
const TASKS = "- action: power-off\n  mode: hard\n- action: wait-for-power-state\n  state: off\n";

const YAML_TOKENS = [
  "a: 1\n",
  "- a\n",
  "&a ",
  "*a ",
  "*a,",
  "? a\n",
  "!!str ",
  "| \n",
  "> \n",
  '"a": 1,',
  "<<: *a\n",
  "# a\n",
];
/** A YAML parser builds some objects for each character; half a second is for much less than other parsers take. */
const YAML_LONGEST = 64 * 1_024;

const TEMPLATE_VALUES = { a: "1", machine: "one", multi: "x\ny: z" };
const size = ByteSize(1, 1e12);
const count = Count(0, 1e9);
const span = Duration(0, 1e9);
const list = List(Text);

const WORKFLOW = `kind: Workflow
metadata: {name: a}
status:
  tasks:
    - {name: b, agentID: c, actions: [{name: d, image: e, timeout: 1, environment: {F: g}}]}
`;

const RECORDING = JSON.stringify({
  ...{ format: "pbnj-worker-recording", version: 1 },
  resources: {
    "/redfish/v1": { "@odata.id": "/redfish/v1", Systems: { "@odata.id": "/redfish/v1/Systems" } },
  },
  exchanges: [{ request: "GET /redfish/v1/Systems", atMs: 0, ms: 1, status: 404 }],
  commands: [
    { command: "RAKP1", code: 18, atMs: 0, completionCode: 8 },
    { command: "Get SDR", netFn: 10, code: 35, data: "0000010000ff", atMs: 1, error: "no answer" },
  ],
});

/** What authors of templates and operators write. */
export const documentTargets: readonly Target[] = [
  {
    name: "template-substitution",
    seeds: ["a {{ .a }} b", "a\n  {{- .machine -}}\n b", TEMPLATE],
    tokens: ["{{", "}}", "{{ .a }}", "{{- .a -}}", "{{-", "-}}", ".a", "{{ .b }}", "{{ if .a }}"],
    around: [
      ["", "{{- .a }}"],
      ["{{ .a -}}", ""],
      ["{{", "}}"],
    ],
    call: (input) => substitute(input, TEMPLATE_VALUES),
    holds: (result, input) => {
      const { text, problems, sourceOffset } = result as ReturnType<typeof substitute>;
      const offsets = [...problems.map(({ offset }) => offset), sourceOffset(text.length), sourceOffset(0)];
      if (offsets.some((offset) => offset < 0 || offset > input.length))
        throw new Error("an offset is outside");
    },
  },
  {
    name: "template",
    seeds: [TEMPLATE],
    tokens: [...YAML_TOKENS, "{{ .a }}", "{{- .b }}", "{},", "tasks: []\n", "[a: b],"],
    around: [
      ["tasks: [", "]"],
      ["tasks:\n - name: a\n   environment: {", "}"],
    ],
    longest: YAML_LONGEST,
    call: (input) => parseTemplate(input, TEMPLATE_VALUES),
    holds: (result) => {
      const parsed = result as ReturnType<typeof parseTemplate>;
      if (!parsed.ok && (parsed.problems.length === 0 || parsed.problems.length > 100)) {
        throw new Error(`${parsed.problems.length} problems`);
      }
    },
  },
  {
    name: "workflow",
    seeds: [WORKFLOW],
    tokens: [...YAML_TOKENS, "tasks: []\n", "agentID: a\n", "image: b\n", "status: {tasks: [", "]}"],
    longest: YAML_LONGEST,
    call: (input) => parseWorkflow("/etc/file.yaml", input),
    holds: (result) => {
      const parsed = result as ReturnType<typeof parseWorkflow>;
      if (!parsed.ok && parsed.problems.length === 0) throw new Error("refused without a problem");
    },
  },
  {
    name: "recording",
    seeds: [RECORDING],
    tokens: [
      '{"resources":',
      '"/redfish/v1"',
      '"exchanges":[',
      '"commands":[',
      "{}",
      "[]",
      "null",
      '"x":1',
      "1e999",
    ],
    around: [['{"resources":{"/redfish/v1":', "}}"]],
    call: (input) => parseRecording(Buffer.from(input)),
    throws: (thrown) => thrown instanceof Error && !thrown.message.includes("\n"),
  },
  {
    name: "yaml-nodes",
    seeds: [TEMPLATE, INVENTORY, POLICY],
    tokens: YAML_TOKENS,
    around: [["{", "}"]],
    call: composeYaml,
    throws: (thrown) => thrown instanceof RangeError,
  },
  {
    name: "yaml",
    seeds: [TEMPLATE, INVENTORY, POLICY],
    tokens: YAML_TOKENS,
    longest: YAML_LONGEST,
    call: (input) => parseYaml("/etc/file.yaml", input),
    holds: (result) => {
      const parsed = result as ReturnType<typeof parseYaml>;
      if (parsed.ok) parsed.value.sourceOf(["a", 0, "b"]);
      else if (parsed.problems.length === 0) throw new Error("refused without a problem");
    },
  },
  {
    name: "identity-kubeconfig",
    seeds: [KUBECONFIG],
    tokens: [...YAML_TOKENS, "exec: {}\n", "server: https://[::1]\n", "token: x\n", "name: one,"],
    around: [["clusters: [", "]"]],
    longest: YAML_LONGEST,
    call: (input) => parseIdentityKubeconfig(input, undefined),
    throws: (thrown) => thrown instanceof KubernetesError,
  },
  {
    name: "baremetalhost-address",
    seeds: [
      "redfish+https://[2001:db8::1]:8443/redfish/v1/Systems/1",
      "ipmi:192.0.2.1",
      "libvirt://192.0.2.1:6233",
    ],
    tokens: ["+http", "redfish://", "ipmi:", "[::1]", ":623", "?privilegelevel=", "//", "@", "%2f"],
    longest: 4_000,
    call: readAddress,
  },
  {
    name: "network",
    seeds: ["10.1.0.0/16", "2001:db8::/48", "::ffff:127.0.0.1", "0x7f000001", "127.1"],
    tokens: ["/", ".", "::", "0x", "ffff", "%eth0", "[", "]"],
    longest: 4_000,
    call: (input) => {
      canonicalHost(input);
      return parseNetwork(input);
    },
  },
  {
    name: "inventory",
    seeds: [INVENTORY],
    tokens: [...YAML_TOKENS, "{name: a, host: b},", "{nmae: a},", "host: a\n"],
    around: [["machines: [", "]"]],
    longest: YAML_LONGEST,
    call: (input) =>
      parseInventory({
        path: "/etc/inventory.yaml",
        text: input,
        env: {},
        readFile: () => "",
        alone: true,
      }),
  },
  {
    name: "policy-file",
    seeds: [POLICY],
    tokens: [...YAML_TOKENS, "images: [a]\n", "imgaes: [a]\n", '"**",', "{namespaces: [a]},"],
    around: [
      ["images: [", "]"],
      ["tenants: [", "]"],
    ],
    longest: YAML_LONGEST,
    call: (input) => parsePolicy("/etc/policy.yaml", input),
  },
  {
    name: "configuration",
    seeds: [CONFIG],
    tokens: [...YAML_TOKENS, "runtime: docker\n", "grpcServer: a:1\n", "rutnime: a\n"],
    longest: YAML_LONGEST,
    call: (input) => loadConfig({ flags: { config: "/etc/worker.yaml" }, env: {}, readFile: () => input }),
  },
  {
    name: "tasks",
    seeds: [TASKS],
    tokens: [...YAML_TOKENS, "- action: power-on\n", "{action: power-off},"],
    longest: YAML_LONGEST,
    call: (input) => parseTasks("TASKS", input),
  },
  {
    name: "values",
    seeds: ["1m30s", "500ms", "256Mi", "1.5g", "90", "a, b,c", "true"],
    tokens: ["1h", "1ms", ".5", "00", "Mi", "a,"],
    call: (input) => [
      parseDurationMs(input),
      ...[size, count, span, list].map((schema) => schema.safeParse(input)),
    ],
  },
  {
    name: "image-reference",
    seeds: ["registry.example:5000/acme/power:v1", `a@sha256:${"0".repeat(64)}`, "localhost/a__b-c.d"],
    tokens: ["a/", "a.", "a-", "__", ":1", "@sha256:", "localhost/", "[::1]/"],
    call: parseImageReference,
    holds: (result, input) => {
      if (result !== undefined && input.length > 600) throw new Error("an image reference without end");
    },
  },
  {
    name: "suggestion",
    seeds: ["power-of", "grpcServre"],
    tokens: ["-", "power", "_off"],
    call: (input) => [
      nearestName(input, ["power-off", "power-on", "grpcServer"]),
      nearestName("power-of", [input]),
      nearestName("power-of", input.split(" ")),
    ],
  },
  {
    name: "table",
    seeds: ["one\ttwo", "ä\u200b\u001b[31m"],
    tokens: ["\u001b[31m", "漢", "\u0301", "👩‍👩‍👧"],
    call: (input) =>
      formatTable(
        ["first", "second"],
        [[input, input], ...input.split("\n").map((line) => [line, line])],
        [1],
      ),
    holds: (result) => {
      if (/[\p{Cc}\u202e]/u.test(String(result).replaceAll("\n", ""))) throw new Error("a control character");
    },
  },
];
