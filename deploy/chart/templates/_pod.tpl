{{/* The pod template of the Deployment or StatefulSet. */}}
{{- define "pbnj-worker.pod" -}}
metadata:
  labels:
    # Not the chart's version: a new chart alone must not replace the pods.
    {{- toYaml (merge (include "pbnj-worker.selectorLabels" . | fromYaml) (deepCopy .Values.podLabels) (deepCopy .Values.commonLabels)) | nindent 4 }}
  annotations:
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    # Settings are read at the start. Inventory, policy, tokens and certificates are re-read when they change, and need no new pod.
    checksum/settings: {{ include "pbnj-worker.settings" . | sha256sum }}
spec:
  serviceAccountName: {{ include "pbnj-worker.serviceAccountName" . }}
  automountServiceAccountToken: {{ ternary true false (eq (include "pbnj-worker.usesCluster" .) "true") }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  # The variables of Services would look like misspelt settings.
  enableServiceLinks: false
  {{- if eq .Values.runtime.kind "process" }}
  # The pod's pause process reaps orphans of actions, as docker run --init does.
  shareProcessNamespace: true
  {{- end }}
  # shutdownGrace, stopGrace and a minute to report cancelled actions.
  terminationGracePeriodSeconds: {{ include "pbnj-worker.terminationSeconds" . }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  {{- if .Values.hostNetwork }}
  hostNetwork: true
  # Without it such a pod cannot resolve the cluster's Services.
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.initContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: worker
      image: {{ include "pbnj-worker.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [{{ include "pbnj-worker.command" . }}, --config, /etc/pbnj-worker/worker.yaml]
      env:
        - name: PBNJ_STATE_DIRECTORY
          value: /var/lib/pbnj-worker
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: 42180
        {{- if .Values.pbnj.enabled }}
        - name: pbnj
          containerPort: 50051
        {{- end }}
      # Probes carry no credentials: these two paths need none, and the kubelet verifies no certificate.
      # Five minutes for a large inventory; then liveness takes over.
      startupProbe:
        httpGet: { path: /healthz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (empty .Values.http.tlsSecret)) }} }
        periodSeconds: 5
        timeoutSeconds: 10
        failureThreshold: 60
      # Blocked lanes, which a restart fixes.
      livenessProbe:
        httpGet: { path: /healthz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (empty .Values.http.tlsSecret)) }} }
        periodSeconds: 30
        timeoutSeconds: 10
        failureThreshold: 3
      # Tink server, API server and state directory, which a restart does not fix. An update that cannot reach them stops.
      readinessProbe:
        httpGet: { path: /readyz, port: http, scheme: {{ ternary "HTTPS" "HTTP" (not (empty .Values.http.tlsSecret)) }} }
        periodSeconds: 15
        timeoutSeconds: 10
        failureThreshold: 2
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        - name: settings
          mountPath: /etc/pbnj-worker
          readOnly: true
        - name: state
          mountPath: /var/lib/pbnj-worker
        - name: tmp
          mountPath: /tmp
        {{- range $index, $each := .Values.inventory.credentials }}
        - name: bmc-{{ $index }}
          mountPath: /etc/bmc/{{ $each.machine }}
          readOnly: true
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    - name: settings
      projected:
        defaultMode: 288 # 0440
        sources:
          - configMap:
              name: {{ include "pbnj-worker.fullname" . }}
          {{- range $file, $from := dict "inventory.yaml" .Values.inventory.existing "policy.yaml" .Values.policy.existing }}
          {{- if or $from.configMap $from.secret }}
          - {{ ternary "configMap" "secret" (not (empty $from.configMap)) }}:
              name: {{ $from.configMap | default $from.secret }}
              items: [{ key: {{ $from.key | quote }}, path: {{ $file }} }]
          {{- end }}
          {{- end }}
          {{- with .Values.tink.tls.ca }}
          {{- if or .configMap .secret }}
          - {{ ternary "configMap" "secret" (not (empty .configMap)) }}:
              name: {{ .configMap | default .secret }}
              items: [{ key: {{ .key | quote }}, path: tink/ca.crt }]
          {{- end }}
          {{- end }}
          {{- with .Values.http }}
          {{- if .tokenSecret }}
          - secret:
              name: {{ .tokenSecret }}
              items: [{ key: token, path: http/token }]
          {{- end }}
          {{- if .tlsSecret }}
          - secret:
              name: {{ .tlsSecret }}
              items: [{ key: tls.crt, path: http/tls.crt }, { key: tls.key, path: http/tls.key }]
          {{- end }}
          {{- if .clientCaSecret }}
          - secret:
              name: {{ .clientCaSecret }}
              items: [{ key: ca.crt, path: http/ca.crt }]
          {{- end }}
          {{- end }}
          {{- with .Values.pbnj }}
          {{- if .jwtKeySecret }}
          - secret:
              name: {{ .jwtKeySecret }}
              items: [{ key: keys, path: pbnj/keys }]
          {{- end }}
          {{- if .jwtSecretSecret }}
          - secret:
              name: {{ .jwtSecretSecret }}
              items: [{ key: secret, path: pbnj/secret }]
          {{- end }}
          {{- if .tlsSecret }}
          - secret:
              name: {{ .tlsSecret }}
              items: [{ key: tls.crt, path: pbnj/tls.crt }, { key: tls.key, path: pbnj/tls.key }]
          {{- end }}
          {{- if .clientCaSecret }}
          - secret:
              name: {{ .clientCaSecret }}
              items: [{ key: ca.crt, path: pbnj/ca.crt }]
          {{- end }}
          {{- end }}
          {{- with .Values.tink.tls.clientSecret }}
          - secret:
              name: {{ . }}
              items: [{ key: tls.crt, path: tink/tls.crt }, { key: tls.key, path: tink/tls.key }]
          {{- end }}
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- if not .Values.state.persistence.enabled }}
    - name: state
      emptyDir:
        sizeLimit: {{ .Values.state.sizeLimit }}
    {{- else if .Values.state.persistence.existingClaim }}
    - name: state
      persistentVolumeClaim:
        claimName: {{ .Values.state.persistence.existingClaim }}
    {{- end }}
    {{- range $index, $each := .Values.inventory.credentials }}
    # A missing Secret affects only that machine: the worker reports it and serves the others.
    - name: bmc-{{ $index }}
      secret:
        secretName: {{ $each.secret }}
        defaultMode: 288 # 0440
        optional: true
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    {{- $selector := dict "labelSelector" (dict "matchLabels" (include "pbnj-worker.selectorLabels" $ | fromYaml)) }}
    - {{- toYaml (merge (deepCopy .) (ternary (dict) $selector (hasKey . "labelSelector"))) | nindent 6 }}
    {{- end }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
{{- end }}
