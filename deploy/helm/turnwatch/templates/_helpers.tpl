{{/* The name of everything that belongs to a release. */}}
{{- define "turnwatch.name" -}}
{{- if contains "turnwatch" .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-turnwatch" .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "turnwatch.selector" -}}
app.kubernetes.io/name: turnwatch
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "turnwatch.labels" -}}
{{ include "turnwatch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{/* A native sidecar ends after SGLang, so it needs no patience of its own:
both share the Pod's grace period, and it gets half. */}}
{{- define "turnwatch.drain" -}}
{{- if eq .Values.mode "native" }}{{ max 1 (div (int .Values.drainTimeoutSeconds) 2) }}{{ else }}{{ .Values.drainTimeoutSeconds }}{{ end }}
{{- end }}

{{- define "turnwatch.grace" -}}
{{ add (int .Values.drainTimeoutSeconds) (int .Values.preStopSleepSeconds) 25 }}
{{- end }}

{{/* The container, the same in every mode but for what it relays to and how it ends. */}}
{{- define "turnwatch.container" -}}
- name: turnwatch
  image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  {{- if eq .Values.mode "native" }}
  restartPolicy: Always
  {{- end }}
  args:
    - -config=/etc/turnwatch/turnwatch.yaml
  env:
    - name: GOMEMLIMIT
      valueFrom:
        resourceFieldRef: {containerName: turnwatch, resource: limits.memory}
    - name: POD
      valueFrom:
        fieldRef: {fieldPath: metadata.name}
    - name: NAMESPACE
      valueFrom:
        fieldRef: {fieldPath: metadata.namespace}
    - name: NODE
      valueFrom:
        fieldRef: {fieldPath: spec.nodeName}
    - name: OTEL_RESOURCE_ATTRIBUTES
      value: service.instance.id=$(POD),k8s.pod.name=$(POD),k8s.namespace.name=$(NAMESPACE),k8s.node.name=$(NODE)
    {{- with .Values.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - name: turnwatch
      containerPort: 8080
    - name: admin
      containerPort: 9464
  startupProbe:
    httpGet: {path: /livez, port: admin}
    periodSeconds: 1
    failureThreshold: 30
  livenessProbe:
    httpGet: {path: /livez, port: admin}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  readinessProbe:
    httpGet: {path: /readyz, port: admin}
    periodSeconds: 5
    timeoutSeconds: 2
  {{- if and (ne .Values.mode "native") .Values.preStopSleepSeconds (semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version) }}
  lifecycle:
    preStop:
      sleep: {seconds: {{ .Values.preStopSleepSeconds }}}
  {{- end }}
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    capabilities: {drop: [ALL]}
    seccompProfile: {type: RuntimeDefault}
  volumeMounts:
    - name: turnwatch
      mountPath: /var/lib/turnwatch
    - name: turnwatch-config
      mountPath: /etc/turnwatch
      readOnly: true
{{- end }}

{{- define "turnwatch.volumes" -}}
- name: turnwatch
  emptyDir: {sizeLimit: {{ .Values.journal.sizeLimit }}}
- name: turnwatch-config
  configMap:
    name: {{ include "turnwatch.name" . }}
{{- end }}

{{- define "turnwatch.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
