{{/* Shared by the gateway and the migration: settings, secrets as files, and the security context. */}}
{{- define "tollgate.environment" -}}
- name: TOLLGATE_ENVIRONMENT
  value: {{ .Values.environment | quote }}
- name: TOLLGATE_HOST
  value: "0.0.0.0"
- name: TOLLGATE_PORT
  value: "8080"
- name: TOLLGATE_DATA_DIR
  value: /data
- name: DATABASE_URL_FILE
  value: /run/secrets/tollgate/database-url
{{- if .Values.database.separateLogins }}
- name: TOLLGATE_OPERATING_DATABASE_URL_FILE
  value: /run/secrets/tollgate/operating-database-url
{{- end }}
{{- if .Values.tls.secretName }}
- name: TOLLGATE_TLS_CERTIFICATE_FILE
  value: /run/secrets/tollgate-tls/tls.crt
- name: TOLLGATE_TLS_KEY_FILE
  value: /run/secrets/tollgate-tls/tls.key
{{- end }}
{{- if .Values.metrics.enabled }}
- name: TOLLGATE_CONSOLE_HOST
  value: "0.0.0.0"
- name: TOLLGATE_CONSOLE_PORT
  value: "8081"
- name: TOLLGATE_METRICS_TOKEN_FILE
  value: /run/secrets/tollgate/metrics-token
{{- end }}
{{- with .Values.journal.anchor }}
- name: TOLLGATE_JOURNAL_ANCHOR
  value: {{ . | quote }}
{{- end }}
- name: TOLLGATE_KEY_PROVIDER
  value: {{ .Values.keys.provider | quote }}
{{- if eq .Values.keys.provider "environment" }}
- name: TOLLGATE_KEY_ENCRYPTION_KEY_FILE
  value: /run/secrets/tollgate/key-encryption-key
{{- else if eq .Values.keys.provider "aws-kms" }}
{{- with .Values.keys.kms.accessKeyId }}
- name: TOLLGATE_AWS_ACCESS_KEY_ID
  value: {{ . | quote }}
- name: TOLLGATE_AWS_SECRET_ACCESS_KEY_FILE
  value: /run/secrets/tollgate/aws-secret-access-key
{{- end }}
- name: TOLLGATE_KMS_KEY
  value: {{ required "keys.kms.key is needed with keys.provider aws-kms" .Values.keys.kms.key | quote }}
- name: TOLLGATE_KMS_REGION
  value: {{ required "keys.kms.region is needed with keys.provider aws-kms" .Values.keys.kms.region | quote }}
{{- with .Values.keys.kms.endpoint }}
- name: TOLLGATE_KMS_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- else }}
- name: TOLLGATE_VAULT_TOKEN_FILE
  value: /run/secrets/tollgate/vault-token
- name: TOLLGATE_VAULT_ADDRESS
  value: {{ required "keys.vault.address is needed with keys.provider vault-transit" .Values.keys.vault.address | quote }}
- name: TOLLGATE_VAULT_KEY
  value: {{ .Values.keys.vault.key | quote }}
- name: TOLLGATE_VAULT_MOUNT
  value: {{ .Values.keys.vault.mount | quote }}
{{- with .Values.keys.vault.namespace }}
- name: TOLLGATE_VAULT_NAMESPACE
  value: {{ . | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  {{- /* Helm reads numbers as floating-point ones. */}}
  value: {{ if kindIs "float64" $value }}{{ $value | int64 | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end -}}

{{- define "tollgate.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "tollgate.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "tollgate.mounts" -}}
- name: secrets
  mountPath: /run/secrets/tollgate
  readOnly: true
{{- if .Values.tls.secretName }}
# The whole folder is mounted, so that a renewed certificate appears.
- name: tls
  mountPath: /run/secrets/tollgate-tls
  readOnly: true
{{- end }}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- end -}}

{{- define "tollgate.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .Values.secrets.name }}
    # Readable by the gateway's group only.
    defaultMode: 0440
{{- if .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ .Values.tls.secretName }}
    defaultMode: 0440
{{- end }}
- name: data
  emptyDir:
    sizeLimit: 1Gi
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- end -}}

{{/* How Kubernetes probes the gateway. */}}
{{- define "tollgate.scheme" -}}
{{ if .Values.tls.secretName }}HTTPS{{ else }}HTTP{{ end }}
{{- end -}}
