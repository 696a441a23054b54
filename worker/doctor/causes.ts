import type { ErrorClass } from "../../shared/contract/error-class.ts";
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
  ...(errorClass === undefined ? {} : { class: errorClass }),
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
    "A setting is missing, not known, cannot have this value or does not go with another; `start` refuses it.",
    "correct it there; docs/configuration.md has every setting",
  ),
  "setting-doubtful": warning(
    "settings",
    "A setting is allowed but probably not meant.",
    "change it, unless it is meant",
  ),
  "inventory-wrong": problem(
    "inventory",
    "usage",
    "The inventory cannot be read, or a line of it is wrong; `start` refuses it.",
    "correct it there; docs/inventory.md has every key",
  ),
  "inventory-doubtful": warning(
    "inventory",
    "A line of the inventory is allowed but probably not meant, such as one BMC under two names.",
    "change it, unless it is meant",
  ),
  "policy-wrong": problem(
    "policy",
    "usage",
    "The policy cannot be read, or a line of it is wrong; `start` refuses it.",
    "correct it there; docs/policy.md has every rule",
  ),
  "policy-doubtful": warning(
    "policy",
    "A rule of the policy has no effect, or gives more than is probably meant.",
    "change it, unless it is meant",
  ),
  "trust-missing": problem(
    "policy",
    "usage",
    "Containers run, and the policy does not say which images receive BMC connections, or not for all that the settings need; `start` refuses it.",
    "name your registry in the policy, as in trustedImages: [registry.example/pbnj-worker/*]; --unsafe-any-image trusts every image instead",
  ),
  "machine-without-tenant": warning(
    "agent-ids",
    "The policy has tenants, and none of them may use the machine: every action for it is refused.",
    "add the machine to the machines of a tenant in {policy}, or take it out of the inventory",
  ),
  "machine-without-agent": warning(
    "agent-ids",
    "The policy has rules about agent IDs, and none lets the machine's own agent ID act on it.",
    "let that agent ID act on that machine below agents in {policy}, or address its tasks to another agent ID",
  ),
  "pattern-without-machine": warning(
    "agent-ids",
    "A rule of the policy names machines that the inventory does not have.",
    "correct the name in {policy}, or take it out",
  ),
  "agent-id-without-machine": warning(
    "agent-ids",
    "A fixed agent ID has the form of a machine's own, and the inventory has no machine of that name.",
    "add the machine to the inventory, or correct the agent ID; without a machine its actions must name one with MACHINE",
  ),
  "agent-id-without-rule": warning(
    "agent-ids",
    "The policy has rules about agent IDs, and none names this one: its tasks act on no machine.",
    "add the agent ID below agents in {policy}, or do not poll with it",
  ),
  "secret-unreadable": problem(
    "secrets",
    "usage",
    "A user name, password, Kg or signing secret cannot be read now: every action for the machine fails.",
    "put it there, readable by the user {user} that runs this command and the worker; docs/inventory.md says what it must look like",
  ),
  "secret-command-doubtful": warning(
    "secrets",
    "A command that is to print secrets is not there, or a variable that it needs is not set.",
    "install the program or set the variable where the worker runs",
  ),
  "secret-readable-by-all": warning(
    "secrets",
    "Every user of this host can read a file with a secret.",
    "take that right away: chmod o-rwx on the files; defaultMode: 0400 for a Secret that Kubernetes mounts",
  ),
  "state-not-a-directory": problem(
    "state-directory",
    "usage",
    "What --state-directory names is not a directory.",
    "name another one with --state-directory, or move the file away",
  ),
  "state-not-usable": problem(
    "state-directory",
    "usage",
    "The worker's user may not read and write the state directory, or not make it.",
    "give it to that user (chown -R {user} {path}; to make it, install -d -m 700 -o {user} {path}), or name another one with --state-directory",
  ),
  "disk-full": problem(
    "state-directory",
    "usage",
    "Nothing can be written there any more: the worker could not put on record what it launches, and would launch nothing.",
    "free some space on that file system",
  ),
  "state-damaged": problem(
    "state-directory",
    "usage",
    "The directory's ID cannot be read: the worker does not start, because it would not know its own containers.",
    "restore {file} from a back-up; or, when nothing runs any more, remove it and start with a new ID",
  ),
  "locks-fail": problem(
    "state-directory",
    "usage",
    "The file system refuses the lock by which a directory belongs to one worker alone.",
    "put the state directory on a local disk, or mount the share with locks (NFS 4, or NFS 3 with its lock daemon)",
  ),
  "locks-do-not-hold": problem(
    "state-directory",
    "usage",
    "Two processes got the same lock: two workers could run every action twice.",
    "put the state directory on a local disk, or mount the share with locks (no nolock, local_lock=none)",
  ),
  "state-on-network": warning(
    "state-directory",
    "The state directory is on a network file system, where a lock holds no further than its server sees to it.",
    "put it on a local disk, unless workers of other hosts cannot have the same directory",
  ),
  "name-not-found": problem(
    "tink-server",
    "unreachable",
    "The server's name has no address.",
    "correct --grpc-server, or the name in the DNS that this host asks: getent hosts {host} must print an address",
  ),
  "name-lookup-failed": problem(
    "tink-server",
    "unreachable",
    "The DNS gave no answer about the server's name.",
    "look at this host's DNS (/etc/resolv.conf), then again: getent hosts {host} must print an address",
  ),
  "server-refuses-connections": problem(
    "tink-server",
    "unreachable",
    "The host is there and nothing listens at the port.",
    "start the tink server, or correct the port in --grpc-server; in Kubernetes it is the one of its Service or load balancer",
  ),
  "no-route": problem(
    "tink-server",
    "unreachable",
    "The network says that there is no way to the host.",
    "look at address, routes and firewalls between this host and {host}",
  ),
  "server-silent": problem(
    "tink-server",
    "timeout",
    "Nothing answers within the time: packets are dropped on the way, or the server hangs.",
    "open the port {port} from here to {host} in every firewall between, and look whether the server is well",
  ),
  "connection-broken": problem(
    "tink-server",
    "unreachable",
    "The connection was made and ended before an answer.",
    "look at the log of the tink server and of what stands before it, at the time of this check",
  ),
  "tls-unknown-authority": problem(
    "tink-server",
    "tls",
    "The certificate was not signed by an authority that is trusted here.",
    "give the PEM certificate of its authority ({issuer}) with --grpc-ca-file, or install it in this host's store",
  ),
  "tls-expired": problem(
    "tink-server",
    "tls",
    "The server's certificate is out of date.",
    "renew it at the server; when its date is in the future, set this host's clock",
  ),
  "tls-not-yet-valid": problem(
    "tink-server",
    "tls",
    "The server's certificate begins in the future.",
    "set this host's clock, or the one of whatever made the certificate",
  ),
  "tls-wrong-name": problem(
    "tink-server",
    "tls",
    "The certificate is not one for the name by which the server was called.",
    "call the server by a name of its certificate ({names}) in --grpc-server, or say which it must be with --grpc-server-name",
  ),
  "server-without-tls": problem(
    "tink-server",
    "tls",
    "TLS was asked for and the server speaks none.",
    "turn --grpc-tls off, or give the server a certificate and a key",
  ),
  "server-with-tls": problem(
    "tink-server",
    "tls",
    "The server speaks TLS and it was not asked for.",
    "turn --grpc-tls on, with --grpc-ca-file for an authority of your own",
  ),
  "client-certificate-wanted": problem(
    "tink-server",
    "tls",
    "The server, or the proxy before it, wants a certificate from the worker and there is none.",
    "give one that the server's authority signed with --grpc-client-cert-file and --grpc-client-key-file",
  ),
  "client-certificate-refused": problem(
    "tink-server",
    "tls",
    "The server, or the proxy before it, does not take the worker's certificate.",
    "look whether {subject} is still valid and signed by the authority that the server trusts",
  ),
  "tls-failed": problem(
    "tink-server",
    "tls",
    "The two sides find no way to speak TLS with each other.",
    "look at the TLS versions and ciphers of the server: TLS 1.2 or 1.3 is needed",
  ),
  "server-without-http2": problem(
    "tink-server",
    "protocol",
    "Something answers at the address that does not speak HTTP/2, on which gRPC goes.",
    "correct the port in --grpc-server; a proxy before the server must pass HTTP/2 on (gRPC)",
  ),
  "no-workflow-api": problem(
    "tink-server",
    "unsupported",
    "A server answers that has neither of the two workflow APIs.",
    "correct --grpc-server: it must be a tink server (Tinkerbell 0.17 or later, or tink 0.8 to 0.12), port 42113 unless moved",
  ),
  "server-error": problem(
    "tink-server",
    "unreachable",
    "The server, or a proxy before it, answers with an error of its own.",
    "look at the log of the tink server and of what stands before it",
  ),
  "other-api": problem(
    "tink-server",
    "unsupported",
    "--grpc-api names the workflow API that this server does not have.",
    "set --grpc-api to auto or {api}",
  ),
  "deprecated-api": warning(
    "tink-server",
    "The server speaks the workflow API of tink 0.8 to 0.12: the worker serves it, but statuses carry no reason and the server is asked every few seconds.",
    "upgrade to Tinkerbell 0.17 or later when you can",
  ),
  "certificate-ends-soon": warning(
    "tink-server",
    "The server's certificate, or the worker's own, ends within 30 days.",
    "renew it and restart who uses it: a worker does not reach a server whose certificate is out of date",
  ),
  "certificate-expired-but-taken": warning(
    "tink-server",
    "The server's certificate is out of date and --grpc-insecure-tls takes it nevertheless.",
    "renew it, and give its authority with --grpc-ca-file in place of --grpc-insecure-tls",
  ),
  "clock-differs": warning(
    "tink-server",
    "The server's clock and this host's are apart: workflow timeouts count from times that the worker reports.",
    "synchronise both with NTP",
  ),
  "engine-absent": problem(
    "runtime",
    "unreachable",
    "There is no socket of a container engine at that path.",
    "install and start Docker or Podman (systemctl enable --now docker, or podman.socket), or name its socket with --docker-socket; in a container, mount it",
  ),
  "engine-down": problem(
    "runtime",
    "unreachable",
    "The socket is there and no engine listens on it.",
    "start the engine: systemctl start docker, or podman.socket",
  ),
  "engine-forbidden": problem("runtime", undefined, "The user may not use the engine's socket.", "{how}"),
  "engine-silent": problem(
    "runtime",
    "timeout",
    "The engine takes the question and does not answer it.",
    "look at the engine (journalctl -u docker), restart it when it hangs",
  ),
  "engine-too-old": problem(
    "runtime",
    "unsupported",
    "The engine's API is older than what running actions needs.",
    "upgrade the engine: Docker 19.03 (API 1.40) or Podman 4 at least",
  ),
  "engine-strange": problem(
    "runtime",
    "protocol",
    "What listens on the socket does not answer as a container engine does.",
    "name the engine's own socket with --docker-socket",
  ),
  "kubeconfig-wrong": problem(
    "cluster",
    "usage",
    "The kubeconfig cannot be read or names no cluster; `start` refuses it.",
    "give one with --kubeconfig, whose current context is the cluster; in a pod leave it out",
  ),
  "cluster-unreachable": problem(
    "cluster",
    undefined,
    "The API server of the cluster does not answer, or its certificate is not trusted.",
    "try kubectl version with the same kubeconfig; in a pod, look at the NetworkPolicy",
  ),
  "cluster-login": problem(
    "cluster",
    undefined,
    "The API server does not accept the worker's credentials.",
    "renew them in the kubeconfig; in a pod, have its service account's token mounted",
  ),
  "cluster-right": problem(
    "cluster",
    undefined,
    "RBAC does not allow what a setting needs; the worker goes on without that part, or does nothing.",
    "grant it with a Role and a RoleBinding ({why}); the chart in deploy/chart grants what its values ask for",
  ),
  "cluster-right-useful": warning(
    "cluster",
    "RBAC does not allow what is useful, but not needed.",
    "grant it, unless that is meant",
  ),
  "workflows-finished": warning(
    "cluster",
    "Agent IDs have many finished Workflows. The tink server looks at one Workflow of an agent ID per second, in no order, so that a new one waits about a second for each of them; with --wake-up about 0.2 s.",
    "delete finished Workflows (a new one now waits {seconds} s on average, without --wake-up), and have them deleted regularly: docs/kubernetes.md, Finished Workflows",
  ),
  "cluster-strange": problem(
    "cluster",
    undefined,
    "What answers is no Kubernetes API, or one that is broken.",
    "look at what stands at that address",
  ),
  "pods-not-possible": problem(
    "runtime",
    undefined,
    "Actions cannot be run as Jobs of the cluster.",
    "mend what it says; `cluster` above names every right that is missing",
  ),
  "actions-absent": problem(
    "runtime",
    "usage",
    "The process runtime finds no actions, or not the folder with them.",
    "correct --actions-directory, or leave it out to use the actions of this installation",
  ),
  "image-name-wrong": problem(
    "action-image",
    "usage",
    "That is no image reference, or the runtime has no action of that name.",
    "name an image as templates do, such as registry.example/pbnj-worker/power-on:v1; without containers its last part is an action's name (pbnj-worker actions)",
  ),
  "image-refused": problem(
    "action-image",
    "usage",
    "The policy does not let this image run. It was neither pulled nor run.",
    "add it to trustedImages in the policy, or to images if it needs no BMC; pbnj-worker policy test explains a whole template",
  ),
  "image-absent": problem(
    "action-image",
    "usage",
    "The engine does not have the image, and the pull policy is never.",
    "load the image into the engine (docker load, docker pull), or set --pull-policy if-missing",
  ),
  "image-not-found": problem(
    "action-image",
    "usage",
    "The registry has no such image, tag or digest.",
    "correct the reference, or push the image; some registries say this also to whoever may not pull it",
  ),
  "registry-refuses": problem(
    "action-image",
    "auth",
    "The registry refuses whoever asks.",
    "give the user and password of the registry with --registry-name, --registry-user and --registry-pass-file; they hold for that registry alone",
  ),
  "registry-unreachable": problem(
    "action-image",
    "unreachable",
    "The engine cannot reach the registry, or does not trust it.",
    "look at the way from the engine to the registry (DNS, proxy, firewall, its TLS authority): docker pull must work there",
  ),
  "pull-failed": warning(
    "action-image",
    "The pull failed, and the image that is there was used, as the worker would.",
    "see to the registry: what is there may be out of date",
  ),
  "container-refused": problem(
    "action-image",
    undefined,
    "The engine made or started no container, with the network, user and limits that the worker gives it.",
    "do what the engine says; --docker-network, --action-user, --memory-limit, --cpu-limit and --pids-limit are what it was asked for",
  ),
  "container-failed": problem(
    "action-image",
    undefined,
    "The container ran and ended with something else than success, though it was only asked for its help.",
    "look whether it is an image of these actions and of this host's processor; it runs as non-root, read-only and without capabilities",
  ),
  "container-out-of-memory": problem(
    "action-image",
    undefined,
    "The container was killed because it wanted more memory than it may have.",
    "raise --memory-limit, or memory below containers in the policy",
  ),
  "image-timeout": problem(
    "action-image",
    "timeout",
    "The image was not pulled and run within the time.",
    "give more time with --timeout; when it still takes as long, look at the registry and the engine",
  ),
  "container-left": problem(
    "action-image",
    undefined,
    "The container could not be removed.",
    "remove it: docker rm --force {container}; the next worker does so an hour after its time",
  ),
  "machine-unknown": problem(
    "bmc",
    "usage",
    "--bmc names a machine that the inventory does not have.",
    "correct the name, or give --bmc without a name for all machines",
  ),
  "bmc-secret": problem(
    "bmc",
    "usage",
    "The machine's credentials cannot be read, or a command that is to print them fails.",
    "put right what it names; docs/inventory.md says what secrets must look like",
  ),
  "bmc-auth": problem(
    "bmc",
    "auth",
    "The BMC refused user or password. They were offered once: more refusals may lock the account.",
    "correct the credentials where the inventory has them, and try one machine first: pbnj-worker doctor --bmc {machine}",
  ),
  "bmc-right": problem(
    "bmc",
    "auth",
    "The user was let in and may not do what actions need.",
    "give the user the role operator or administrator at the BMC, for Redfish and for IPMI over LAN",
  ),
  "bmc-unreachable": problem(
    "bmc",
    "unreachable",
    "No provider got an answer from the BMC's address.",
    "look at host and ports in the inventory, at the BMC's network and at firewalls (443/TCP for Redfish, 623/UDP for IPMI), and whether the BMC offers them",
  ),
  "bmc-tls": problem(
    "bmc",
    "tls",
    "The BMC's certificate is not accepted, or TLS with it fails. No other provider is used then, as somebody in the middle could cause it.",
    "compare the fingerprint with the BMC's own, then pin it with tls.fingerprint or trust its CA with tls.caFile in the inventory",
  ),
  "bmc-unsupported": problem(
    "bmc",
    "unsupported",
    "The BMC does not offer what every action needs, with any of the machine's providers.",
    "name other providers for the machine in the inventory; docs/providers/README.md says what each can do",
  ),
  "bmc-busy": problem(
    "bmc",
    "busy",
    "The BMC has no time or no free session now.",
    "wait some minutes; when it stays so, close its sessions or restart it with the action bmc-reset",
  ),
  "bmc-timeout": problem(
    "bmc",
    "timeout",
    "The BMC did not answer within the time.",
    "look whether the BMC hangs (the action bmc-reset restarts it) and at the network to it; --timeout gives it more time",
  ),
  "bmc-answer": problem(
    "bmc",
    "protocol",
    "The BMC gives an answer that makes no sense or is an error of its own.",
    "run pbnj-worker action check --log-level debug against it, upgrade its firmware, or name another provider for the machine",
  ),
  "bmc-wrong": problem(
    "bmc",
    "usage",
    "The check could not be run with what the inventory says of the machine.",
    "put right what it names; docs/inventory.md has every key",
  ),
  "bmc-state": problem(
    "bmc",
    "state",
    "The machine is in no state that can be told.",
    "wait until the machine has started or stopped, then look again",
  ),
  "bmc-clock": warning(
    "bmc",
    "The BMC's clock is far from this host's: its event log and its certificates' dates are wrong.",
    "give the BMC NTP servers with the action set-ntp",
  ),
  "bmc-certificate": warning(
    "bmc",
    "The BMC's certificate is out of date, or will be within 30 days.",
    "renew the BMC's certificate",
  ),
  "bmc-rights": warning(
    "bmc",
    "The user may look at the BMC and not change anything: most actions will be refused.",
    "give the user the role operator at the BMC, or administrator where actions change its users",
  ),
  "bmc-doubtful": warning(
    "bmc",
    "Something that an action needs is not as it should be.",
    "run pbnj-worker action check against it, which shows every look by itself",
  ),
  "too-slow": problem(
    "settings",
    "timeout",
    "The check came to no end within its time.",
    "give it more time with --timeout",
  ),
  "check-failed": problem(
    "settings",
    "internal",
    "The check itself failed: that is our defect.",
    "report it with this line",
  ),
} as const satisfies Readonly<Record<string, Cause>>;
export type CauseName = keyof typeof CAUSES;
