{{/* Values that are right one by one and wrong together. All problems are said at once. */}}
{{- define "pbnj-worker.check" -}}
{{- $values := .Values -}}
{{- $problems := list -}}
{{- if not $values.image.repository -}}
{{- $problems = append $problems "image.repository is missing: the worker's image, such as registry.example/pbnj-worker/worker" -}}
{{- end -}}
{{- $serves := eq (include "pbnj-worker.command" .) "serve" -}}
{{- if and (not $values.tink.address) (not $serves) (not $values.rufio.enabled) -}}
{{- $problems = append $problems "tink.address is missing: the tink server, host:port" -}}
{{- end -}}
{{- if $serves -}}
{{- range $name, $given := dict "agentIds" $values.agentIds "tink.tls.enabled" $values.tink.tls.enabled "wakeUp on" (eq (include "pbnj-worker.choice" $values.wakeUp) "on") -}}
{{- if $given }}{{ $problems = append $problems (printf "%s has no effect without a tink server: set tink.address as well" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not (or $serves $values.agentIds (include "pbnj-worker.hasFileInventory" .) (include "pbnj-worker.hasClusterInventory" .) $values.inventory.sources) -}}
{{- $problems = append $problems "agentIds is empty, and so are inventory.file, inventory.existing, inventory.kubernetes and inventory.sources: the worker has no agent ID to poll with" -}}
{{- end -}}
{{- if and $values.rufio.enabled (has "rufio" $values.agentIds) -}}
{{- $problems = append $problems "agentIds holds rufio, which is reserved for Rufio's Jobs: choose another one" -}}
{{- end -}}

{{- with $values.pbnj -}}
{{- $tokens := compact (list (ternary "pbnj.jwtKeySecret" "" (not (empty .jwtKeySecret))) (ternary "pbnj.jwtSecretSecret" "" (not (empty .jwtSecretSecret)))) -}}
{{- $given := concat $tokens (compact (list (ternary "pbnj.clientCaSecret" "" (not (empty .clientCaSecret))))) -}}
{{- if .enabled -}}
{{- if and (ne .auth "none") (not $given) -}}
{{- $problems = append $problems "pbnj.jwtKeySecret is missing, and so are pbnj.jwtSecretSecret and pbnj.clientCaSecret: set one of them, so that callers of PBnJ's API can authenticate; or pbnj.auth none, and everyone who reaches the pod can control machines" -}}
{{- else if and (eq .auth "none") $given -}}
{{- $problems = append $problems (printf "pbnj.auth is none, so %s has no effect: remove one or the other" (join " and " $given)) -}}
{{- end -}}
{{- if and .clientCaSecret (not .tlsSecret) -}}
{{- $problems = append $problems "pbnj.clientCaSecret needs TLS: set pbnj.tlsSecret" -}}
{{- end -}}
{{- if and (or .issuer .audience) (not $tokens) -}}
{{- $problems = append $problems "pbnj.issuer and pbnj.audience have no effect without tokens: set pbnj.jwtKeySecret or pbnj.jwtSecretSecret" -}}
{{- end -}}
{{- if has "pbnj" $values.agentIds -}}
{{- $problems = append $problems "agentIds holds pbnj, which is reserved for PBnJ's API: choose another one" -}}
{{- end -}}
{{- if include "pbnj-worker.isSharded" $ -}}
{{- $problems = append $problems (printf "shards is %d, but pbnj.enabled needs one shard: requests to PBnJ's API are for machines of all shards" (int $values.shards)) -}}
{{- end -}}
{{- if eq (int .port) (int $values.service.port) -}}
{{- $problems = append $problems (printf "pbnj.port and service.port are both %d: the Service needs two ports" (int .port)) -}}
{{- end -}}
{{- if and $values.networkPolicy.enabled (not $values.networkPolicy.pbnjFrom) (eq .auth "none") -}}
{{- $problems = append $problems "networkPolicy.pbnjFrom is empty, and pbnj.auth none lets everyone in: list who may call PBnJ's API, such as [{podSelector: {}}]" -}}
{{- end -}}
{{- else -}}
{{- range $name, $set := dict "jwtKeySecret" .jwtKeySecret "jwtSecretSecret" .jwtSecretSecret "issuer" .issuer "audience" .audience "tlsSecret" .tlsSecret "clientCaSecret" .clientCaSecret "image" .image -}}
{{- if $set }}{{ $problems = append $problems (printf "pbnj.%s has no effect without PBnJ's API: set pbnj.enabled as well" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- with $values.tink.tls -}}
{{- if not .enabled -}}
{{- range $name, $given := dict "insecure" .insecure "serverName" .serverName "ca.configMap" .ca.configMap "ca.secret" .ca.secret "clientSecret" .clientSecret -}}
{{- if $given }}{{ $problems = append $problems (printf "tink.tls.%s has no effect without TLS: set tink.tls.enabled as well" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and .insecure (or .ca.configMap .ca.secret) -}}
{{- $problems = append $problems "tink.tls.insecure accepts any certificate, so tink.tls.ca has no effect: set only one of them" -}}
{{- end -}}
{{- if and .ca.configMap .ca.secret -}}
{{- $problems = append $problems "tink.tls.ca.configMap and tink.tls.ca.secret are both set: set only one of them" -}}
{{- end -}}
{{- end -}}

{{- with $values.http -}}
{{- $given := compact (list (ternary "http.tokenSecret" "" (not (empty .tokenSecret))) (ternary "http.clientCaSecret" "" (not (empty .clientCaSecret)))) -}}
{{- if and (ne .auth "none") (not $given) -}}
{{- $problems = append $problems "http.tokenSecret is missing: a Secret with the token for status page and metrics, as kubectl create secret generic pbnj-worker-http --from-literal=token=$(openssl rand -hex 32) makes it; or http.auth none, and everyone who reaches the pod can read them" -}}
{{- else if and (eq .auth "none") $given -}}
{{- $problems = append $problems (printf "http.auth is none, so %s has no effect: remove one or the other" (join " and " $given)) -}}
{{- end -}}
{{- if and .clientCaSecret (not .tlsSecret) -}}
{{- $problems = append $problems "http.clientCaSecret needs TLS: set http.tlsSecret" -}}
{{- end -}}
{{- if and $values.metrics.serviceMonitor.enabled .clientCaSecret (not .tokenSecret) (not $values.metrics.serviceMonitor.tlsConfig) -}}
{{- $problems = append $problems "metrics.serviceMonitor.tlsConfig is empty, so Prometheus has no client certificate and http.tokenSecret no token for it: set one of them" -}}
{{- end -}}
{{- end -}}

{{- range $name := list "inventory" "policy" -}}
{{- with get $values $name -}}
{{- $given := compact (list (ternary (printf "%s.file" $name) "" (not (empty .file))) (ternary (printf "%s.existing.configMap" $name) "" (not (empty .existing.configMap))) (ternary (printf "%s.existing.secret" $name) "" (not (empty .existing.secret)))) -}}
{{- if gt (len $given) 1 }}{{ $problems = append $problems (printf "%s are both set: set only one of them" (join " and " $given)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if and (include "pbnj-worker.runsJobs" .) $values.policy.file (not (include "pbnj-worker.trustsEveryImage" .)) (not (hasKey (fromYaml $values.policy.file) "trustedImages")) -}}
{{- $problems = append $problems "policy.file has no trustedImages: list the images that receive BMC connections, such as [registry.example/pbnj-worker/*]" -}}
{{- end -}}
{{- if and $values.inventory.credentials (not (include "pbnj-worker.hasFileInventory" .)) -}}
{{- $problems = append $problems "inventory.credentials are for machines of a file: set inventory.file or inventory.existing. Machines and Hardware name their own Secrets" -}}
{{- end -}}
{{- $machines := list -}}
{{- range $values.inventory.credentials }}{{ $machines = append $machines .machine }}{{ end -}}
{{- if ne (len $machines) (len (uniq $machines)) -}}
{{- $problems = append $problems "inventory.credentials names a machine twice" -}}
{{- end -}}
{{- if and (include "pbnj-worker.runsNewJobs" .) (has "machines" $values.inventory.kubernetes) -}}
{{- $problems = append $problems "inventory.kubernetes has machines, but with rufio.api v1alpha2 a Job names a Hardware, and a Machine may have the same name: remove machines" -}}
{{- end -}}
{{- if $values.rufio.enabled -}}
{{- range $values.inventory.sources -}}
{{- if not .prefix }}{{ $problems = append $problems (printf "inventory.sources: %s needs a prefix, because of rufio.enabled: a Rufio Job names a Machine of the worker's own cluster" .name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $secretNamespaces := $values.inventory.secretNamespaces -}}
{{- if and (eq (include "pbnj-worker.watchNamespace" .) "*") (include "pbnj-worker.readsSecrets" .) (not $secretNamespaces) -}}
{{- $problems = append $problems "inventory.secretNamespaces is missing: with watchNamespace * the worker could read every Secret of the cluster. List the namespaces with machines' Secrets, or * for all" -}}
{{- end -}}
{{- if and (has "*" $secretNamespaces) (ne (include "pbnj-worker.watchNamespace" .) "*") -}}
{{- $problems = append $problems "inventory.secretNamespaces is *, which needs watchNamespace *: list the namespaces with machines' Secrets" -}}
{{- end -}}
{{- if and (without $secretNamespaces "*") (not (include "pbnj-worker.hasClusterInventory" .)) -}}
{{- $problems = append $problems "inventory.secretNamespaces is for machines of the cluster: set inventory.kubernetes" -}}
{{- end -}}

{{- if and (gt (int $values.replicas) 1) (not (include "pbnj-worker.runsJobs" .)) -}}
{{- $problems = append $problems (printf "replicas is %d, but with runtime.kind %s no other replica can adopt actions that run in a pod: replicas must be 1, or runtime.kind kubernetes" (int $values.replicas) $values.runtime.kind) -}}
{{- else if and (gt (int $values.replicas) 1) (not (include "pbnj-worker.elects" .)) -}}
{{- $problems = append $problems (printf "replicas is %d, but leaderElection.enabled is off: every replica would receive the same actions" (int $values.replicas)) -}}
{{- else if and (include "pbnj-worker.elects" .) (not (include "pbnj-worker.runsJobs" .)) -}}
{{- $problems = append $problems (printf "leaderElection.enabled needs runtime.kind kubernetes: with %s the next leader cannot adopt actions that run in a pod" $values.runtime.kind) -}}
{{- end -}}
{{- if mod (int $values.replicas) (int $values.shards) -}}
{{- $problems = append $problems (printf "replicas is %d, but must be a multiple of shards, which is %d: %d for one replica per shard, %d to take over within seconds" (int $values.replicas) (int $values.shards) (int $values.shards) (mul 2 (int $values.shards))) -}}
{{- end -}}
{{- with $values.state.persistence -}}
{{- if and .existingClaim (not .enabled) -}}
{{- $problems = append $problems "state.persistence.existingClaim has no effect without state.persistence.enabled" -}}
{{- end -}}
{{- if and .existingClaim (gt (int $values.replicas) 1) -}}
{{- $problems = append $problems (printf "state.persistence.existingClaim is for one replica, and replicas is %d: a state directory has one worker" (int $values.replicas)) -}}
{{- end -}}
{{- end -}}
{{- if and (include "pbnj-worker.needsCopies" .) (not (include "pbnj-worker.copiesSecrets" .)) -}}
{{- $problems = append $problems "runtime.copySecrets is off, but Jobs cannot mount the credentials of machines of a file, another namespace or another cluster" -}}
{{- end -}}

{{- if and $values.networkPolicy.enabled (not $values.networkPolicy.bmcNetworks) (not $values.networkPolicy.bmcPorts) -}}
{{- $problems = append $problems "networkPolicy.bmcNetworks and networkPolicy.bmcPorts are both empty, so actions could reach everything: set one of them" -}}
{{- end -}}
{{- if and $values.networkPolicy.enabled $values.metrics.serviceMonitor.enabled (not $values.networkPolicy.ingressFrom) (eq $values.http.auth "none") -}}
{{- $problems = append $problems "networkPolicy.ingressFrom is empty, so Prometheus cannot scrape the worker as metrics.serviceMonitor configures" -}}
{{- end -}}

{{- range $name, $owner := .Files.Get "files/setting-places.yaml" | fromYaml -}}
{{- if hasKey $values.config $name }}{{ $problems = append $problems (printf "config.%s belongs elsewhere: set %s" $name $owner) }}{{ end -}}
{{- end -}}
{{- if $problems }}{{ fail (printf "\n  - %s\n" (join "\n  - " $problems)) }}{{ end -}}
{{- end }}
