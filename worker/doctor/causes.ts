import type { ErrorClass } from "../../shared/contract/error-class.ts";
import { defined } from "../../shared/defined.ts";
import type { CheckName } from "./finding.ts";

/** Something that can be wrong, the same whoever meets it. */
export interface Cause {
  readonly check: CheckName;
  readonly state: "problem" | "warning";
  /** Decides about the exit code; a problem without a class is 1. */
  readonly class?: ErrorClass;
  /** What it is, for the manual. */
  readonly means: string;
  /** How to mend it; `{name}` stands for a fact of the case. */
  readonly mend: string;
}

const problem = (
  check: CheckName,
  errorClass: ErrorClass | undefined,
  means: string,
  mend: string,
): Cause => ({
  check,
  state: "problem",
  ...defined({ class: errorClass }),
  means,
  mend,
});

const warning = (check: CheckName, means: string, mend: string): Cause => ({
  check,
  state: "warning",
  means,
  mend,
});

/** Everything that the doctor knows to be wrong, and its remedy. The manual's table is made from it. */
export const CAUSES = {
  "setting-wrong": problem(
    "settings",
    "usage",
    "A setting is missing, unknown, invalid, or conflicts with another setting; `start` rejects it.",
    "correct the setting there; docs/reference/configuration.md lists every setting",
  ),
  "setting-doubtful": warning(
    "settings",
    "A setting is valid but probably not intended.",
    "change it, unless it is intended",
  ),
  "inventory-wrong": problem(
    "inventory",
    "usage",
    "The inventory cannot be read, or an entry is invalid; `start` rejects it.",
    "correct the entry there; docs/reference/inventory.md lists every key",
  ),
  "inventory-doubtful": warning(
    "inventory",
    "An inventory entry is valid but probably not intended, such as one BMC under two names.",
    "change it, unless it is intended",
  ),
  "policy-wrong": problem(
    "policy",
    "usage",
    "The policy cannot be read, or a rule is invalid; `start` rejects it.",
    "correct the rule there; docs/reference/policy.md lists every rule",
  ),
  "policy-doubtful": warning(
    "policy",
    "A policy rule has no effect, or probably grants more than intended.",
    "change it, unless it is intended",
  ),
  "trust-missing": problem(
    "policy",
    "usage",
    "Actions run in containers, and the policy does not name every image that must receive BMC connections; `start` rejects it.",
    "name your registry in the policy, as in trustedImages: [registry.example/pbnj-worker/*]; --unsafe-any-image trusts every image instead",
  ),
  "machine-without-tenant": warning(
    "agent-ids",
    "The policy has tenants, and none of them may use the machine. The worker denies every action for it.",
    "add the machine to a tenant's machines in {policy}, or remove it from the inventory",
  ),
  "machine-without-agent": warning(
    "agent-ids",
    "The policy has rules for agent IDs, and none allows the machine's own agent ID to act on it.",
    "allow that agent ID to act on that machine under agents in {policy}, or address its tasks to another agent ID",
  ),
  "pattern-without-machine": warning(
    "agent-ids",
    "A policy rule names machines that are not in the inventory.",
    "correct the name in {policy}, or remove it",
  ),
  "agent-id-without-machine": warning(
    "agent-ids",
    "A fixed agent ID matches the agent ID pattern, and the inventory has no machine of that name.",
    "add the machine to the inventory, or correct the agent ID; otherwise its actions must name a machine with MACHINE",
  ),
  "agent-id-without-rule": warning(
    "agent-ids",
    "The policy has rules for agent IDs, and none names this one. Its tasks cannot act on any machine.",
    "add the agent ID under agents in {policy}, or stop polling with it",
  ),
  "secret-unreadable": problem(
    "secrets",
    "usage",
    "A user name, password, Kg or signing secret cannot be read. Every action for the machine fails.",
    "create it and make it readable by {user}, the user that runs this command and the worker; docs/reference/inventory.md describes the format",
  ),
  "secret-command-doubtful": warning(
    "secrets",
    "A command that prints secrets is not installed, or a variable that it needs is not set.",
    "install the program or set the variable where the worker runs",
  ),
  "secret-readable-by-all": warning(
    "secrets",
    "Every user of this host can read a file with a secret.",
    "restrict the permissions: chmod o-rwx for files, defaultMode: 0400 for a mounted Kubernetes Secret",
  ),
  "state-not-a-directory": problem(
    "state-directory",
    "usage",
    "The path in --state-directory is not a directory.",
    "choose another directory with --state-directory, or move the file",
  ),
  "state-not-usable": problem(
    "state-directory",
    "usage",
    "The worker's user cannot create, read or write the state directory.",
    "change its owner (chown -R {user} {path}) or create it (install -d -m 700 -o {user} {path}), or choose another directory with --state-directory",
  ),
  "disk-full": problem(
    "state-directory",
    "usage",
    "The disk is full. The worker cannot write its journal, so it launches no actions.",
    "free some space on that file system",
  ),
  "state-damaged": problem(
    "state-directory",
    "usage",
    "The directory's ID cannot be read. The worker does not start, because it could not identify its own containers.",
    "restore {file} from a backup; or, if no actions run, remove it and start with a new ID",
  ),
  "locks-fail": problem(
    "state-directory",
    "usage",
    "The file system does not support the lock that reserves the directory for one worker.",
    "put the state directory on a local disk, or mount the share with locks (NFS 4, or NFS 3 with its lock daemon)",
  ),
  "locks-do-not-hold": problem(
    "state-directory",
    "usage",
    "Two processes acquired the same lock, so two workers could run every action twice.",
    "put the state directory on a local disk, or mount the share with locks (no nolock, local_lock=none)",
  ),
  "state-on-network": warning(
    "state-directory",
    "The state directory is on a network file system, whose locks depend on its server.",
    "put it on a local disk, unless no worker on another host can use the same directory",
  ),
  "name-not-found": problem(
    "tink-server",
    "unreachable",
    "The server's host name has no DNS record.",
    "correct --grpc-server, or the DNS record of the name; getent hosts {host} must print an address",
  ),
  "name-lookup-failed": problem(
    "tink-server",
    "unreachable",
    "The DNS server did not answer.",
    "check this host's DNS settings (/etc/resolv.conf); getent hosts {host} must print an address",
  ),
  "server-refuses-connections": problem(
    "tink-server",
    "unreachable",
    "The host is reachable, but nothing listens on the port.",
    "start the tink server, or correct the port in --grpc-server; in Kubernetes, use the port of its Service or load balancer",
  ),
  "no-route": problem(
    "tink-server",
    "unreachable",
    "The network has no route to the host.",
    "check the address, routes and firewalls between this host and {host}",
  ),
  "server-silent": problem(
    "tink-server",
    "timeout",
    "The server did not answer in time: a firewall drops packets, or the server hangs.",
    "open port {port} from this host to {host} in every firewall, and check that the server is healthy",
  ),
  "connection-broken": problem(
    "tink-server",
    "unreachable",
    "The connection was closed before the server answered.",
    "check the logs of the tink server and of any proxy in front of it, at the time of this check",
  ),
  "tls-unknown-authority": problem(
    "tink-server",
    "tls",
    "The certificate was signed by an unknown authority.",
    "pass the PEM certificate of its authority ({issuer}) with --grpc-ca-file, or install it in this host's trust store",
  ),
  "tls-expired": problem(
    "tink-server",
    "tls",
    "The server's certificate has expired.",
    "renew the certificate; if it is still valid, correct this host's clock",
  ),
  "tls-not-yet-valid": problem(
    "tink-server",
    "tls",
    "The server's certificate is not valid yet.",
    "correct the clock of this host, or of the host that issued the certificate",
  ),
  "tls-wrong-name": problem(
    "tink-server",
    "tls",
    "The certificate does not contain the server's host name.",
    "use a name from its certificate ({names}) in --grpc-server, or set the expected name with --grpc-server-name",
  ),
  "server-without-tls": problem(
    "tink-server",
    "tls",
    "TLS is enabled, but the server does not use TLS.",
    "disable --grpc-tls, or configure a certificate and key on the server",
  ),
  "server-with-tls": problem(
    "tink-server",
    "tls",
    "The server uses TLS, but TLS is disabled.",
    "enable --grpc-tls, with --grpc-ca-file for a private authority",
  ),
  "client-certificate-wanted": problem(
    "tink-server",
    "tls",
    "The server, or a proxy in front of it, requires a client certificate, and none is configured.",
    "pass one signed by the server's authority with --grpc-client-cert-file and --grpc-client-key-file",
  ),
  "client-certificate-refused": problem(
    "tink-server",
    "tls",
    "The server, or a proxy in front of it, rejects the worker's client certificate.",
    "check that {subject} is still valid and signed by an authority that the server trusts",
  ),
  "tls-failed": problem(
    "tink-server",
    "tls",
    "The TLS handshake failed.",
    "check the server's TLS versions and ciphers; the worker needs TLS 1.2 or 1.3",
  ),
  "server-without-http2": problem(
    "tink-server",
    "protocol",
    "The program at this address does not support HTTP/2, which gRPC needs.",
    "correct the port in --grpc-server; a proxy in front of the server must forward HTTP/2 (gRPC)",
  ),
  "no-workflow-api": problem(
    "tink-server",
    "unsupported",
    "The server has neither of the two workflow APIs.",
    "correct --grpc-server: it must be a tink server (Tinkerbell 0.17 or later, or tink 0.8 to 0.12), on port 42113 by default",
  ),
  "server-error": problem(
    "tink-server",
    "unreachable",
    "The server, or a proxy in front of it, answered with an error.",
    "check the logs of the tink server and of any proxy in front of it",
  ),
  "other-api": problem(
    "tink-server",
    "unsupported",
    "--grpc-api selects a workflow API that this server does not have.",
    "set --grpc-api to auto or {api}",
  ),
  "deprecated-api": warning(
    "tink-server",
    "The server uses the workflow API of tink 0.8 to 0.12. The worker supports it, but statuses have no reason and the worker polls every few seconds.",
    "upgrade to Tinkerbell 0.17 or later",
  ),
  "certificate-ends-soon": warning(
    "tink-server",
    "The certificate of the server or of the worker expires within 30 days.",
    "renew the certificate and restart its user: the worker rejects an expired server certificate",
  ),
  "certificate-expired-but-taken": warning(
    "tink-server",
    "The server's certificate has expired, and --grpc-insecure-tls accepts it anyway.",
    "renew it, and replace --grpc-insecure-tls with --grpc-ca-file",
  ),
  "clock-differs": warning(
    "tink-server",
    "The clocks of the server and of this host differ. Workflow timeouts use times that the worker reports.",
    "synchronize both clocks with NTP",
  ),
  "engine-absent": problem(
    "runtime",
    "unreachable",
    "The container engine's socket does not exist.",
    "install and start Docker or Podman (systemctl enable --now docker, or podman.socket), or name its socket with --docker-socket; in a container, mount it",
  ),
  "engine-down": problem(
    "runtime",
    "unreachable",
    "The socket exists, but no container engine listens on it.",
    "start the engine: systemctl start docker, or podman.socket",
  ),
  "engine-forbidden": problem(
    "runtime",
    undefined,
    "The user has no permission to use the engine's socket.",
    "{how}",
  ),
  "engine-silent": problem(
    "runtime",
    "timeout",
    "The engine accepts the connection but does not answer.",
    "check the engine's log (journalctl -u docker) and restart it if it hangs",
  ),
  "engine-too-old": problem(
    "runtime",
    "unsupported",
    "The engine's API version is too old.",
    "upgrade the engine to Docker 19.03 (API 1.40) or Podman 4, or later",
  ),
  "engine-strange": problem(
    "runtime",
    "protocol",
    "The program that listens on the socket is not a container engine.",
    "set --docker-socket to the engine's socket",
  ),
  "kubeconfig-wrong": problem(
    "cluster",
    "usage",
    "The kubeconfig cannot be read or names no cluster; `start` rejects it.",
    "pass a kubeconfig with --kubeconfig whose current context is the cluster; in a pod, omit the flag",
  ),
  "cluster-unreachable": problem(
    "cluster",
    undefined,
    "The API server of the cluster does not answer, or its certificate is not trusted.",
    "run kubectl version with the same kubeconfig; in a pod, check the NetworkPolicy",
  ),
  "cluster-login": problem(
    "cluster",
    undefined,
    "The API server does not accept the worker's credentials.",
    "renew them in the kubeconfig; in a pod, mount the service account token",
  ),
  "cluster-right": problem(
    "cluster",
    undefined,
    "RBAC does not grant a permission that a setting needs. The worker disables that part, or does not start actions.",
    "grant it with a Role and a RoleBinding ({why}); the chart in deploy/chart grants what its values need",
  ),
  "cluster-right-useful": warning(
    "cluster",
    "RBAC does not grant an optional permission.",
    "grant it, unless that is intended",
  ),
  "workflows-finished": warning(
    "cluster",
    "Agent IDs have many finished Workflows. The tink server checks one Workflow of an agent ID per second, in random order, so a new one waits about one second for each finished one, or less than half a second with --wake-up.",
    "delete finished Workflows (a new one now waits {seconds} s on average, without --wake-up), and delete them regularly: docs/how-to/reduce-workflow-delay.md",
  ),
  "cluster-strange": problem(
    "cluster",
    undefined,
    "The server is not a Kubernetes API server, or it is broken.",
    "check which server runs at that address",
  ),
  "pods-not-possible": problem(
    "runtime",
    undefined,
    "Actions cannot run as Jobs in the cluster.",
    "fix what the message names; `cluster` above lists every missing right",
  ),
  "actions-absent": problem(
    "runtime",
    "usage",
    "The process runtime finds no actions, or the folder does not exist.",
    "correct --actions-directory, or omit it to use the actions of this installation",
  ),
  "image-name-wrong": problem(
    "action-image",
    "usage",
    "The value is not an image reference, or the runtime has no action of that name.",
    "use an image name as in templates, such as registry.example/pbnj-worker/power-on:v1; without containers its last part is an action's name (pbnj-worker actions)",
  ),
  "image-refused": problem(
    "action-image",
    "usage",
    "The policy denies this image. The doctor neither pulled nor ran it.",
    "add it to trustedImages in the policy, or to images if it needs no BMC; pbnj-worker policy test explains a whole template",
  ),
  "image-absent": problem(
    "action-image",
    "usage",
    "The engine does not have the image, and --pull-policy is never.",
    "load the image into the engine (docker load, docker pull), or set --pull-policy if-missing",
  ),
  "image-not-found": problem(
    "action-image",
    "usage",
    "The registry has no such image, tag or digest.",
    "correct the reference, or push the image; some registries also return this error if you have no permission to pull",
  ),
  "registry-refuses": problem(
    "action-image",
    "auth",
    "The registry denies access.",
    "set the registry's user and password with --registry-name, --registry-user and --registry-pass-file; they apply to that registry only",
  ),
  "registry-unreachable": problem(
    "action-image",
    "unreachable",
    "The engine cannot reach the registry, or does not trust it.",
    "check the connection from the engine to the registry (DNS, proxy, firewall, TLS authority); docker pull must work there",
  ),
  "pull-failed": warning(
    "action-image",
    "The pull failed, and the doctor used the local image, as the worker does.",
    "check the registry: the local image may be out of date",
  ),
  "container-refused": problem(
    "action-image",
    undefined,
    "The engine could not create or start a container with the worker's network, user and limits.",
    "follow the engine's message; check --docker-network, --action-user, --memory-limit, --cpu-limit and --pids-limit",
  ),
  "container-failed": problem(
    "action-image",
    undefined,
    "The container failed, although it only ran --help.",
    "check that the image contains an action of this project and matches this host's architecture; it runs as non-root, read-only and without capabilities",
  ),
  "container-out-of-memory": problem(
    "action-image",
    undefined,
    "The container was killed because it exceeded its memory limit.",
    "raise --memory-limit, or memory under containers in the policy",
  ),
  "image-timeout": problem(
    "action-image",
    "timeout",
    "The image was not pulled and run in time.",
    "raise --timeout; if that does not help, check the registry and the engine",
  ),
  "container-left": problem(
    "action-image",
    undefined,
    "The container could not be removed.",
    "remove it with docker rm --force {container}; otherwise the next worker removes it an hour after its timeout",
  ),
  "machine-unknown": problem(
    "bmc",
    "usage",
    "--bmc names a machine that is not in the inventory.",
    "correct the name, or pass --bmc without a name to check all machines",
  ),
  "bmc-secret": problem(
    "bmc",
    "usage",
    "The machine's credentials cannot be read, or the command that prints them fails.",
    "fix what the message names; docs/reference/inventory.md describes the format of secrets",
  ),
  "bmc-auth": problem(
    "bmc",
    "auth",
    "The BMC rejected the user name or password. The doctor tried them once, because further attempts may lock the account.",
    "correct the credentials in the place that the inventory names, and check one machine first: pbnj-worker doctor --bmc {machine}",
  ),
  "bmc-right": problem(
    "bmc",
    "auth",
    "The user can log in but lacks permissions that actions need.",
    "give the user the operator or administrator role on the BMC, for Redfish and for IPMI over LAN",
  ),
  "bmc-unreachable": problem(
    "bmc",
    "unreachable",
    "No provider received an answer from the BMC.",
    "check the host and ports in the inventory, the BMC's network, firewalls (443/TCP for Redfish, 623/UDP for IPMI), and that these services are enabled on the BMC",
  ),
  "bmc-tls": problem(
    "bmc",
    "tls",
    "The BMC's certificate is not trusted, or the TLS handshake failed. The worker then tries no other provider, because this can be a man-in-the-middle attack.",
    "compare the fingerprint with the BMC's own, then pin it with tls.fingerprint or trust its CA with tls.caFile in the inventory",
  ),
  "bmc-unsupported": problem(
    "bmc",
    "unsupported",
    "None of the machine's providers supports what every action needs on this BMC.",
    "set other providers for the machine in the inventory; docs/reference/providers/README.md lists what each supports",
  ),
  "bmc-busy": problem(
    "bmc",
    "busy",
    "The BMC is busy or has no free session.",
    "wait a few minutes; if it stays busy, close its sessions or restart it with the action bmc-reset",
  ),
  "bmc-timeout": problem(
    "bmc",
    "timeout",
    "The BMC did not answer in time.",
    "check whether the BMC hangs (the action bmc-reset restarts it), check its network, or raise --timeout",
  ),
  "bmc-answer": problem(
    "bmc",
    "protocol",
    "The BMC returned an invalid answer or an internal error.",
    "run pbnj-worker action check --log-level debug against it, upgrade its firmware, or set another provider for the machine",
  ),
  "bmc-wrong": problem(
    "bmc",
    "usage",
    "The check could not run with the machine's inventory entry.",
    "fix what the message names; docs/reference/inventory.md lists every key",
  ),
  "bmc-state": problem(
    "bmc",
    "state",
    "The machine's power state is unknown.",
    "wait until the machine has started or stopped, then run the check again",
  ),
  "bmc-clock": warning(
    "bmc",
    "The BMC's clock differs from this host's. Times in its event log and certificates are wrong.",
    "configure NTP servers on the BMC with the action set-ntp",
  ),
  "bmc-certificate": warning(
    "bmc",
    "The BMC's certificate has expired or expires within 30 days.",
    "renew the BMC's certificate",
  ),
  "bmc-rights": warning(
    "bmc",
    "The user has read-only access to the BMC, so most actions fail.",
    "give the user the operator role on the BMC, or administrator if actions manage users",
  ),
  "bmc-doubtful": warning(
    "bmc",
    "The check found a problem that affects actions.",
    "run pbnj-worker action check against it, which prints every check",
  ),
  "too-slow": problem("settings", "timeout", "The check did not finish in time.", "raise --timeout"),
  "check-failed": problem(
    "settings",
    "internal",
    "The check itself failed. This is a bug in pbnj-worker.",
    "report the bug with this line",
  ),
} as const satisfies Readonly<Record<string, Cause>>;
export type CauseName = keyof typeof CAUSES;
