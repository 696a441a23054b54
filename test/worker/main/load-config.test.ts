import { mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { formatProblem } from "../../../shared/document/problem.ts";
import { createCertificate } from "../../../simulators/certificate.ts";
import type { RuntimeConfig } from "../../../worker/main/core-settings.ts";
import { loadConfig } from "../../../worker/main/load-config.ts";
import type { WorkerConfig } from "../../../worker/main/settings.ts";
import { fileFolder } from "../../support/test-folder.ts";

const CANARY = "canary-7f3a";
const ENOUGH = { grpcServer: "tink.example.org", agentId: ["pbnj"] };
const DOCKER = { runtime: "docker", unsafeAnyImage: true };

const { folder } = await fileFolder();
function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

interface Given {
  readonly flags?: Readonly<Record<string, unknown>>;
  readonly env?: Readonly<Record<string, string>>;
}

function config({ flags = ENOUGH, env = {} }: Given): WorkerConfig {
  const loaded = loadConfig({ flags, env });
  if (!loaded.ok) throw new Error(loaded.problems.map(formatProblem).join("\n"));
  return loaded.config;
}

function problems({ flags = ENOUGH, env = {} }: Given): readonly string[] {
  const loaded = loadConfig({ flags, env });
  return loaded.ok ? [] : loaded.problems.map(formatProblem);
}

function warnings({ flags = ENOUGH, env = {} }: Given): readonly string[] {
  const loaded = loadConfig({ flags, env });
  return loaded.ok ? loaded.warnings.map(formatProblem) : ["not loaded"];
}

describe("the defaults", () => {
  it("need no more than a server and an agent ID", () => {
    const loaded = config({});

    expect(loaded).toMatchObject({
      agentIds: ["pbnj"],
      server: { server: "tink.example.org:42113", tls: false, insecureTls: false, pollTimeoutMs: 75_000 },
      backoffMaxIntervalMs: 30_000,
      defaultActionTimeoutMs: 3_600_000,
      stopGraceMs: 10_000,
      shutdownGraceMs: 300_000,
      agentAttributes: false,
      hardwareMaxAgeMs: 86_400_000,
      runtime: { kind: "process" },
      log: { level: "info", format: "auto" },
    });
    expect(loaded.inventory.machines()).toEqual([]);
    expect(loaded.policy.images).toEqual(["**"]);
  });

  it("of the docker runtime limit what a container takes", () => {
    expect(config({ flags: { ...ENOUGH, ...DOCKER, dockerConfig: "/d" } }).runtime).toEqual({
      kind: "docker",
      engine: { socketPath: "/var/run/docker.sock" },
      logins: { loginFile: "/d/config.json", registries: [] },
      network: "bridge",
      pullPolicy: "if-missing",
      user: "65532:65532",
      memoryBytes: 256 * 1_024 * 1_024,
      cpus: 1,
      pids: 64,
    });
  });
});

describe("precedence", () => {
  it("is flag, own variable, other workers' variables, file, default", () => {
    const file = write("precedence.yaml", "grpcServer: file\nagentId: [a]\n");
    const aliases = { TINKERBELL_GRPC_AUTHORITY: "older", AGENT_GRPC_SERVER: "alias" };
    const server = (flags: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>>) =>
      config({ flags: { config: file, ...flags }, env }).server?.server;

    expect(server({}, {})).toBe("file:42113");
    expect(server({}, { TINKERBELL_GRPC_AUTHORITY: "older" })).toBe("older:42113");
    expect(server({}, aliases)).toBe("alias:42113");
    expect(server({}, { ...aliases, PBNJ_GRPC_SERVER: "own" })).toBe("own:42113");
    expect(server({ grpcServer: "flag" }, { ...aliases, PBNJ_GRPC_SERVER: "own" })).toBe("flag:42113");
  });

  it("passes over empty variables and empty keys", () => {
    const file = write("empty.yaml", "runtime: docker\nunsafeAnyImage: true\nlogFormat:\n");
    const loaded = config({
      flags: ENOUGH,
      env: { PBNJ_CONFIG: file, PBNJ_RUNTIME: "", AGENT_RUNTIME: " ", PBNJ_LOG_FORMAT: "" },
    });

    expect(loaded.runtime.kind).toBe("docker");
    expect(loaded.log.format).toBe("auto");
  });

  it("lets a flag without a value switch on, and one with a value switch off", () => {
    expect(config({ flags: { ...ENOUGH, grpcTls: true } }).server?.tls).toBe(true);
    expect(
      config({ flags: { ...ENOUGH, grpcTls: "false" }, env: { PBNJ_GRPC_TLS: "true" } }).server?.tls,
    ).toBe(false);
  });
});

describe("what other workers' deployments set", () => {
  it("carries over from tink-agent", () => {
    const loaded = config({
      flags: {},
      env: {
        AGENT_ID: "52:54:00:12:34:56",
        AGENT_TRANSPORT: "grpc",
        AGENT_GRPC_SERVER: "10.0.0.1:42113",
        AGENT_GRPC_TLS: "true",
        AGENT_GRPC_INSECURE_TLS: "t",
        AGENT_RUNTIME: "docker",
        PBNJ_UNSAFE_ANY_IMAGE: "true",
        AGENT_DOCKER_SOCKET: "/run/user/1000/docker.sock",
        AGENT_REGISTRY_NAME: "registry.example.org",
        AGENT_REGISTRY_USER: "puller",
        AGENT_REGISTRY_PASS: CANARY,
        AGENT_BACKOFF_MAX_INTERVAL: "1m30s",
        AGENT_LOG_LEVEL: "4",
      },
    });

    expect(loaded).toMatchObject({
      agentIds: ["52:54:00:12:34:56"],
      server: { server: "10.0.0.1:42113", tls: true, insecureTls: true },
      runtime: {
        engine: { socketPath: "/run/user/1000/docker.sock" },
        logins: { registries: [{ registry: "registry.example.org", username: "puller" }] },
      },
      backoffMaxIntervalMs: 90_000,
      log: { level: "debug" },
    });
    expect(inspect(loaded, { depth: 20 })).not.toContain(CANARY);
    expect(loginOf(loaded.runtime)?.password.reveal()).toBe(CANARY);
  });

  it("carries over from tink-worker", () => {
    const loaded = config({
      flags: {},
      env: { WORKER_ID: "node-1", TINKERBELL_GRPC_AUTHORITY: "10.0.0.1:42113", TINKERBELL_TLS: "false" },
    });

    expect(loaded).toMatchObject({ agentIds: ["node-1"], server: { server: "10.0.0.1:42113", tls: false } });
  });

  it.each([
    ["Docker", "docker"],
    ["KUBERNETES", "kubernetes"],
  ])("reads the runtime %s in any case, as tink-agent does, and the transport", (text, kind) => {
    const env = { AGENT_RUNTIME: text, AGENT_TRANSPORT: "GRPC", PBNJ_UNSAFE_ANY_IMAGE: "true" };

    expect(config({ env }).runtime.kind).toBe(kind);
  });

  it("is refused by name where this worker does not have it", () => {
    expect(problems({ env: { AGENT_RUNTIME: "Containerd", AGENT_TRANSPORT: "nats" } })).toEqual([
      "AGENT_TRANSPORT: must be grpc: other transports are not supported",
      "AGENT_RUNTIME: containerd is not supported: use docker, which works with any Docker Engine API",
    ]);
  });

  it.each([
    ["-8", "error"],
    ["-4", "warn"],
    ["0", "info"],
    ["1", "debug"],
    ["warn", "warn"],
  ])("reads the log level %s as %s", (text, level) => {
    expect(config({ env: { AGENT_LOG_LEVEL: text } }).log.level).toBe(level);
  });
});

describe("agent IDs", () => {
  it("come from repeated flags, commas, and one for each machine, each once", () => {
    const inventory = write(
      "agents.yaml",
      "machines:\n  - {name: node-1, host: 192.0.2.1}\n  - {name: node-2, host: 192.0.2.2}\n",
    );
    const flags = {
      ...ENOUGH,
      agentId: ["a, b", "a", "w-node-2-x"],
      inventory,
      agentIdPattern: "w-{machine}-x",
    };

    expect(config({ flags }).agentIds).toEqual(["a", "b", "w-node-2-x", "w-node-1-x"]);
  });

  it.each(["pbnj", "{machine}-{machine}", "a {machine}"])("refuses the pattern %s", (agentIdPattern) => {
    expect(problems({ flags: { ...ENOUGH, agentIdPattern } })).toEqual([
      expect.stringMatching(/^--agent-id-pattern: must (contain \{machine\} once|be without spaces)$/),
    ]);
  });

  it("are needed, from wherever", () => {
    const inventory = write("empty.yaml", "machines: []\n");

    expect(problems({ flags: { grpcServer: "x" } })).toEqual([
      "--agent-id: is missing, and so is --inventory: the worker has no agent ID to poll with",
    ]);
    expect(problems({ flags: { grpcServer: "x", inventory } })).toEqual([
      "--inventory: has no machines, and no agent ID is set: the worker has no agent ID to poll with",
    ]);
  });
});

describe("the server's address", () => {
  it.each([
    ["tink.example.org", "tink.example.org:42113"],
    ["10.0.0.1:80", "10.0.0.1:80"],
    ["[2001:db8::1]", "[2001:db8::1]:42113"],
    [" [::1]:5 ", "[::1]:5"],
  ])("%s means %s", (grpcServer, expected) => {
    expect(config({ flags: { ...ENOUGH, grpcServer } }).server?.server).toBe(expected);
  });

  it.each([
    ["http://tink:42113", "; remove http://"],
    ["'tink:42113'", "; the value is in quotes: remove them"],
    ...["tink:0", "tink:65536", "tink:", ":42113", "2001:db8::1", "a b"].map((text): [string, string] => [
      text,
      "",
    ]),
  ])("%s is refused", (grpcServer, hint) => {
    expect(problems({ flags: { ...ENOUGH, grpcServer } })).toEqual([
      `--grpc-server: must be host:port, such as tinkerbell.example.org:42113 or [2001:db8::1]:42113${hint}`,
    ]);
  });

  it("in a misspelt variable is found where it is missing", () => {
    const { grpcServer: _, ...others } = ENOUGH;

    expect(problems({ flags: others, env: { pbnj_grpc_sever: "tink" } })).toEqual([
      "--grpc-server: is missing: the tink server's address, host:port",
      "pbnj_grpc_sever: is not known, did you mean PBNJ_GRPC_SERVER?",
    ]);
  });
});

describe("TLS to the server", () => {
  it("takes what its files hold", () => {
    const authority = createCertificate({ commonName: "authority", authority: true });
    const client = createCertificate({ commonName: "worker", issuer: authority });
    write("ca.pem", authority.cert);
    write("client.pem", client.cert);
    write("client.key", client.key);
    const file = write(
      "tls.yaml",
      "grpcTls: true\ngrpcCaFile: ca.pem\ngrpcClientCertFile: client.pem\ngrpcClientKeyFile: client.key\ngrpcServerName: tink\n",
    );

    const { server } = config({ flags: { ...ENOUGH, config: file } });

    expect(server).toMatchObject({
      tls: true,
      ca: authority.cert,
      clientCertificate: client.cert,
      serverName: "tink",
    });
    expect(server?.clientKey?.reveal()).toBe(client.key);
  });

  it("refuses a key that is of another certificate", () => {
    const grpcClientCertFile = write("one.pem", createCertificate({ commonName: "one" }).cert);
    const grpcClientKeyFile = write("other.key", createCertificate({ commonName: "other" }).key);

    expect(problems({ flags: { ...ENOUGH, grpcTls: true, grpcClientCertFile, grpcClientKeyFile } })).toEqual([
      `--grpc-client-key-file: ${grpcClientKeyFile} is not the key of the certificate in ${grpcClientCertFile}`,
    ]);
  });

  it("refuses files without a certificate or a key, and never repeats them", () => {
    const junk = write("junk.pem", `-----BEGIN CERTIFICATE-----\n${CANARY}\n-----END CERTIFICATE-----\n`);
    const grpcClientCertFile = write("text.pem", CANARY);
    const found = problems({
      flags: {
        ...ENOUGH,
        grpcTls: true,
        grpcCaFile: junk,
        grpcClientCertFile,
        grpcClientKeyFile: grpcClientCertFile,
      },
    });

    expect(found).toEqual([
      `--grpc-client-cert-file: ${grpcClientCertFile} holds no PEM certificate`,
      `--grpc-client-key-file: ${grpcClientCertFile} holds no PEM private key without a passphrase`,
      `--grpc-ca-file: ${junk} holds a certificate that cannot be read`,
    ]);
    expect(found.join()).not.toContain(CANARY);
  });

  it("refuses halves and contradictions", () => {
    const pem = write("half.pem", createCertificate({ commonName: "half" }).cert);

    expect(problems({ flags: { ...ENOUGH, grpcInsecureTls: true, grpcServerName: "x" } })).toEqual([
      "--grpc-insecure-tls: has no meaning without TLS: set --grpc-tls as well",
      "--grpc-server-name: has no meaning without TLS: set --grpc-tls as well",
    ]);
    expect(problems({ flags: { ...ENOUGH, grpcTls: true, grpcClientCertFile: pem } })).toEqual([
      "--grpc-client-cert-file: needs its private key: set --grpc-client-key-file",
    ]);
    expect(problems({ flags: { ...ENOUGH, grpcTls: true, grpcInsecureTls: true, grpcCaFile: pem } })).toEqual(
      ["--grpc-insecure-tls: accepts any certificate, so --grpc-ca-file has no effect: set only one of them"],
    );
  });

  it("warns of a server whose certificate is not verified", () => {
    expect(warnings({ flags: { ...ENOUGH, grpcTls: true, grpcInsecureTls: true } })).toEqual([
      expect.stringMatching(/^--grpc-insecure-tls: accepts any certificate/),
    ]);
  });
});

describe("the address of the status page", () => {
  const exposed = { ...ENOUGH, httpAddress: "0.0.0.0:42180" };
  const token = () => write("http-token", "0123456789abcdef\n");

  it.each(["127.0.0.1:1", "127.8.9.10:1", "[::1]:1", "localhost:1", "off"])(
    "%s needs no authentication",
    (httpAddress) => {
      expect(problems({ flags: { ...ENOUGH, httpAddress } })).toEqual([]);
    },
  );

  it.each(["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "worker.example.org:1", "localhost.example.org:1"])(
    "%s needs it, or a word that it is not wanted",
    (httpAddress) => {
      const flags = { ...ENOUGH, httpAddress };

      expect(problems({ flags })).toEqual([
        "--http-address: is not a loopback address, so it needs authentication. Fix: set --http-token-file or --http-client-ca-file; or set --http-auth to none, and everyone who reaches the address can read status page and metrics",
      ]);
      expect(problems({ flags: { ...flags, httpAuth: "none" } })).toEqual([]);
      expect(problems({ flags: { ...flags, httpTokenFile: token() } })).toEqual([]);
    },
  );

  it("takes a token, a pair of certificate and key, and authorities, and prints no secret of them", () => {
    const { cert, key } = createCertificate({ commonName: "worker" });
    const [httpCertFile, httpKeyFile] = [write("http.crt", cert), write("http.key", key)];
    const flags = {
      ...{ ...exposed, httpCertFile, httpKeyFile },
      ...{ httpTokenFile: write("canary", `${CANARY}-0123456789\n`), httpClientCaFile: httpCertFile },
    };

    const loaded = config({ flags });

    expect(loaded.http?.files.token?.text.reveal()).toBe(`${CANARY}-0123456789\n`);
    expect(loaded.http?.files.key?.text.reveal()).toBe(key);
    expect(inspect(loaded, { depth: 20 })).not.toContain(CANARY);
    expect(inspect(loaded, { depth: 20 })).not.toContain("PRIVATE KEY");
    expect(warnings({ flags })).toEqual([]);
    expect(warnings({ flags: { ...exposed, httpTokenFile: token() } })).toEqual([
      expect.stringContaining("--http-token-file: is used without TLS"),
    ]);
  });

  it("refuses files that are not what they should be, and settings that contradict each other", () => {
    const pair = createCertificate({ commonName: "worker" });
    const other = createCertificate({ commonName: "other" });
    const [cert, key] = [write("http.crt", pair.cert), write("other.key", other.key)];
    const said = (flags: Readonly<Record<string, string>>) => problems({ flags: { ...exposed, ...flags } });

    expect(said({ httpTokenFile: write("short", "calvin\n") })).toEqual([
      expect.stringContaining("has no token on line 1"),
    ]);
    expect(said({ httpTokenFile: token(), httpCertFile: cert, httpKeyFile: key })).toEqual([
      expect.stringContaining("is not the key of the certificate in"),
    ]);
    expect(said({ httpTokenFile: token(), httpAuth: "none" })).toEqual([
      "--http-auth: is none, so --http-token-file and --http-client-ca-file have no effect: remove one or the other",
    ]);
    expect(said({ httpTokenFile: token(), httpCertFile: cert })).toEqual([
      "--http-cert-file: needs its private key: set --http-key-file",
    ]);
    expect(said({ httpClientCaFile: cert })).toEqual([
      "--http-client-ca-file: needs TLS: set --http-cert-file and --http-key-file",
    ]);
  });
});

function loginOf(runtime: RuntimeConfig) {
  return runtime.kind === "docker" ? runtime.logins.registries?.[0] : undefined;
}

describe("the container engine", () => {
  const engineOf = (env: Readonly<Record<string, string>>, flags: Readonly<Record<string, string>> = {}) => {
    const { runtime } = config({ flags: { ...ENOUGH, ...DOCKER, ...flags }, env });
    return runtime.kind === "docker" ? runtime.engine : undefined;
  };

  it("is the one of DOCKER_HOST, as for Docker's own clients, unless a setting names another", () => {
    expect(engineOf({})).toEqual({ socketPath: "/var/run/docker.sock" });
    expect(engineOf({ DOCKER_HOST: "" })).toEqual({ socketPath: "/var/run/docker.sock" });
    expect(engineOf({ DOCKER_HOST: "unix:///run/podman/podman.sock" })).toEqual({
      socketPath: "/run/podman/podman.sock",
    });
    expect(engineOf({ DOCKER_HOST: "tcp://127.0.0.1:2375" })).toEqual({
      remote: { host: "127.0.0.1", port: 2375 },
    });
    expect(engineOf({ DOCKER_HOST: "unix:///run/a.sock" }, { dockerSocket: "unix:///run/b.sock" })).toEqual({
      socketPath: "/run/b.sock",
    });
  });

  it("on another host is reached with TLS and the files of DOCKER_CERT_PATH", () => {
    const { cert, key } = createCertificate({ commonName: "engine.example" });
    const place = mkdtempSync(join(folder, "certs-"));
    for (const [name, text] of Object.entries({ ca: cert, cert, key })) {
      writeFileSync(join(place, `${name}.pem`), text);
    }
    const env = { DOCKER_HOST: "tcp://engine.example", DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: place };

    const found = engineOf(env);

    expect(found?.remote).toMatchObject({ host: "engine.example", port: 2376, tls: { ca: cert } });
    expect(inspect(found, { depth: 5 })).not.toContain(key.slice(100, 140));
    expect(
      problems({ flags: { ...ENOUGH, ...DOCKER }, env: { ...env, DOCKER_CERT_PATH: "/nowhere" } }),
    ).toEqual(["ca", "cert", "key"].map((name) => `DOCKER_CERT_PATH: /nowhere/${name}.pem does not exist`));
  });

  it.each([
    [
      "ssh://root@engine.example",
      /DOCKER_HOST: must be the path of a socket, unix:\/\/\/path or tcp:\/\/host:port/,
    ],
    ["tcp://engine.example:2375", /DOCKER_HOST: needs TLS on another host/],
    ["tcp://engine.example:99999", /DOCKER_HOST: must be the path of a socket/],
    ["unix://relative.sock", /DOCKER_HOST: must be the path of a socket/],
  ])("is refused as %s, with what is needed, and of no interest to other runtimes", (DOCKER_HOST, reason) => {
    const found = problems({ flags: { ...ENOUGH, ...DOCKER }, env: { DOCKER_HOST } });

    expect(found).toEqual([expect.stringMatching(reason)]);
    expect(config({ flags: ENOUGH, env: { DOCKER_HOST } }).runtime.kind).toBe("process");
  });
});

describe("the registry", () => {
  it.each([
    ["https://registry.example.org/v2/", "registry.example.org"],
    ["http://Registry.example.org:5000", "registry.example.org:5000"],
    ["https://index.docker.io/v1/", "docker.io"],
    ["registry.example.org/", "registry.example.org"],
  ])("is understood as %s", (DOCKER_REGISTRY, expected) => {
    const env = { DOCKER_REGISTRY, REGISTRY_USERNAME: "u", REGISTRY_PASSWORD: CANARY };

    expect(loginOf(config({ flags: { ...ENOUGH, ...DOCKER }, env }).runtime)?.registry).toBe(expected);
  });

  it("is refused with a path", () => {
    const env = {
      DOCKER_REGISTRY: "registry.example.org/team",
      REGISTRY_USERNAME: "u",
      REGISTRY_PASSWORD: "p",
    };

    expect(problems({ flags: { ...ENOUGH, ...DOCKER }, env })).toEqual([
      expect.stringMatching(/^DOCKER_REGISTRY: must be a registry's host/),
    ]);
  });

  it("has its logins in the file of docker login or podman login", () => {
    const fileOf = (env: Readonly<Record<string, string>>) => {
      const { runtime } = config({ flags: { ...ENOUGH, ...DOCKER }, env });
      return runtime.kind === "docker" ? runtime.logins.loginFile : undefined;
    };

    expect(fileOf({})).toMatch(/\/\.docker\/config\.json$/);
    expect(fileOf({ DOCKER_CONFIG: "/etc/d" })).toBe("/etc/d/config.json");
    expect(fileOf({ DOCKER_CONFIG: "/etc/d", REGISTRY_AUTH_FILE: "/run/auth.json" })).toBe("/run/auth.json");
  });
});

describe("the registry's password", () => {
  it("comes from a file without its line end", () => {
    const registryPassFile = write("pass", `${CANARY}\n`);
    const { runtime } = config({
      flags: { ...ENOUGH, ...DOCKER, registryUser: "u", registryPassFile },
    });

    expect(loginOf(runtime)?.password.reveal()).toBe(CANARY);
    expect(loginOf(runtime)?.registry).toBe("docker.io");
  });

  it("is refused in the configuration file and never repeated", () => {
    const file = write("secret.yaml", `registryUser: u\nregistryPass: ${CANARY}\n`);
    const found = problems({ flags: { ...ENOUGH, config: file } });

    expect(found).toEqual([
      "secret.yaml:2: registryPass is a password: put it in a separate file and set registryPassFile to its path",
      "secret.yaml:1: registryUser needs a password: set --registry-pass-file",
    ]);
    expect(found.join()).not.toContain(CANARY);
  });

  it("is never taken from a flag", () => {
    const flags = { ...ENOUGH, ...DOCKER, registryUser: "u", registryPass: CANARY };

    expect(problems({ flags })).toEqual(["--registry-user: needs a password: set --registry-pass-file"]);
  });

  it("needs a user, and stands in one place", () => {
    const registryPassFile = write("pass2", "x");

    expect(problems({ flags: { ...ENOUGH, registryPassFile }, env: { REGISTRY_PASSWORD: "x" } })).toEqual([
      "--registry-pass-file: conflicts with REGISTRY_PASSWORD: set only one of them",
      "REGISTRY_PASSWORD: needs a user: set --registry-user",
      "--registry-pass-file: needs a user: set --registry-user",
    ]);
  });
});

describe("problems", () => {
  it("are all found at once, each where it stands", () => {
    const inventory = write(
      "bad-inventory.yaml",
      "machines:\n  - name: node-1\n    host: http://x\n    paswordFile: y\n",
    );
    const policy = write("bad-policy.yaml", "digestOnly: perhaps\nvolume: []\n");
    const file = write(
      "bad.yaml",
      [
        "grpcServr: tink",
        "grpcTls: 7",
        "agentId: {a: 1}",
        `inventory: ${inventory}`,
        `policy: ${policy}`,
        "config: x",
      ].join("\n"),
    );

    const found = problems({
      flags: { config: file, pollTimeout: "soon" },
      env: { PBNJ_PIDS_LIMIT: "many", AGENT_BACKOFF_MAX_INTERVAL: "30", PBNJ_MEMORY_LIMIT: "1k" },
    });

    expect(found).toEqual([
      "bad.yaml:1: grpcServr is not known, did you mean grpcServer?",
      "bad.yaml:6: config names the configuration file itself: set it with --config or PBNJ_CONFIG",
      "bad.yaml:3: agentId must be a list of text",
      "bad.yaml:2: grpcTls must be true or false",
      "--poll-timeout: must be a duration such as 45s or 1m30s, from 1s to 10m",
      "PBNJ_PIDS_LIMIT: must be a whole number from 1 to 4194304",
      "PBNJ_MEMORY_LIMIT: must be a size such as 256Mi or 1Gi",
      "--grpc-server: is missing: the tink server's address, host:port",
      "bad-inventory.yaml:3: machine node-1: host must not have a scheme: use only the name or address",
      "bad-inventory.yaml:4: machine node-1: paswordFile is not known",
      "bad-policy.yaml:1: digestOnly must be true, false or trusted",
      "bad-policy.yaml:2: volume is not known, did you mean volumes?",
    ]);
  });

  it("name files that cannot be read", () => {
    const missing = join(folder, "missing.yaml");

    expect(problems({ flags: { ...ENOUGH, inventory: missing, policy: folder } })).toEqual([
      `--inventory: ${missing} does not exist`,
      `--policy: ${folder} is not a file`,
    ]);
    expect(problems({ flags: { config: missing } })).toEqual([`--config: ${missing} does not exist`]);
  });

  it.each([
    ["a list", "- a\n", "list.yaml:1: must contain settings, one per line, such as runtime: docker"],
    ["broken", "grpcServer: [a\nruntime: docker\n", /^broken.yaml:\d: /],
    ["repeated", "runtime: docker\nruntime: process\n", "repeated.yaml:2: map keys must be unique"],
  ])("of a file that is %s are told with their lines", (name, text, expected) => {
    const file = write(`${name.replace("a ", "")}.yaml`, text);

    expect(problems({ flags: { ...ENOUGH, config: file } })[0]).toEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
  });

  it("suggest the value that was meant", () => {
    expect(problems({ flags: { ...ENOUGH, pullPolicy: "allways", logLevel: "inf" } })).toEqual([
      "--pull-policy: must be one of always, if-missing, never, did you mean always?",
      "--log-level: must be one of debug, info, warn, error, did you mean info?",
    ]);
  });

  it.each(["0", "0:0", "1000:0", "root", "-1"])("refuse the action user %s", (actionUser) => {
    expect(problems({ flags: { ...ENOUGH, actionUser } })).toEqual([
      "--action-user: must be a user ID, or user and group ID as in 65532:65532, neither of them 0",
    ]);
  });

  it("include flags that are given but empty", () => {
    expect(problems({ flags: { ...ENOUGH, inventory: "", dockerSocket: " " } })).toEqual([
      "--inventory: is empty",
      "--docker-socket: is empty",
    ]);
  });
});

it("compares machines with their desired state only if asked to, and at most once per minute", () => {
  expect(config({ flags: ENOUGH })).not.toHaveProperty("drift");
  expect(config({ flags: { ...ENOUGH, driftInterval: "1m" } })).toMatchObject({
    drift: { intervalMs: 60_000, quietTimeMs: 3_600_000, image: "pbnj-worker/{action}:v{version}" },
  });
  const further = { driftInterval: "1h", driftQuietTime: "5m", driftImage: "registry.example/{action}" };
  expect(config({ flags: { ...ENOUGH, ...further } })).toMatchObject({
    drift: { quietTimeMs: 300_000, image: "registry.example/{action}" },
  });
  expect(problems({ flags: { ...ENOUGH, driftInterval: "1h", agentId: ["drift"] } })).toEqual([
    "--agent-id: holds drift, which is reserved for corrections: choose another one",
  ]);
  expect(problems({ flags: { ...ENOUGH, driftInterval: "59s" } })).toEqual([
    expect.stringMatching(/^--drift-interval: /),
  ]);
});

describe("warnings", () => {
  it("tell of a poll that ends before the server answers", () => {
    expect(warnings({ flags: { ...ENOUGH, pollTimeout: "60s" } })).toEqual([
      expect.stringMatching(/^--poll-timeout: is shorter than one minute/),
    ]);
    expect(warnings({ flags: { ...ENOUGH, pollTimeout: "61s" } })).toEqual([]);
  });

  it("tell of attributes for a server whose API has none", () => {
    const flags = { ...ENOUGH, agentAttributes: true, hardwareMaxAge: "2h" };

    expect(config({ flags })).toMatchObject({ agentAttributes: true, hardwareMaxAgeMs: 7_200_000 });
    expect(warnings({ flags })).toEqual([]);
    expect(warnings({ flags: { ...flags, grpcApi: "legacy" } })).toEqual([
      "--agent-attributes: has no effect with --grpc-api legacy: that API has no attributes",
    ]);
  });

  it("tell of variables that look like misspelt settings, and of no others", () => {
    const env = { PBNJ_GRPC_SERVR: "x", PBNJ_WORKER_SERVICE_HOST: "10.0.0.1", PBNJ_METRICS_PORT_80_TCP: "x" };

    expect(warnings({ env })).toEqual(["PBNJ_GRPC_SERVR: is not known, did you mean PBNJ_GRPC_SERVER?"]);
  });

  it("tell of a machine whose secrets are not there yet", () => {
    const inventory = write(
      "later.yaml",
      "machines:\n  - name: node-1\n    host: 192.0.2.1\n    credentials: {username: u, passwordEnv: NOT_THERE}\n",
    );

    expect(warnings({ flags: { ...ENOUGH, inventory } })).toEqual([
      "later.yaml:4: machine node-1: passwordEnv NOT_THERE is not set",
    ]);
  });
});

describe("paths in a configuration file", () => {
  it("are relative to the file, those of flags to where the worker runs", () => {
    write("rel-policy.yaml", "images: [a/*]\n");
    const file = write("relative.yaml", "policy: rel-policy.yaml\nactionsDirectory: acts\n");

    const loaded = config({ flags: { ...ENOUGH, config: file } });

    expect(loaded.policy.images).toEqual(["a/*"]);
    expect(loaded.runtime).toEqual({ kind: "process", actionsDirectory: join(folder, "acts") });
    expect(config({ flags: { ...ENOUGH, actionsDirectory: "acts" } }).runtime).toMatchObject({
      actionsDirectory: "acts",
    });
  });
});
