{{/* Checks that the schema cannot express: values that contradict each other. */}}
{{- define "tollgate.checks" -}}
{{- $deadline := get .Values.settings "TOLLGATE_ACQUIRER_DEADLINE_MS" | default 10000 | int -}}
{{- $needed := add .Values.preStopSeconds (div (add $deadline 999) 1000) 5 1 -}}
{{- if lt (int .Values.terminationGracePeriodSeconds) (int $needed) -}}
{{- fail (printf "terminationGracePeriodSeconds must be at least %d: preStopSeconds, the acquirer's deadline and five seconds, and one more" $needed) -}}
{{- end -}}
{{- if and (eq .Values.environment "production") (not .Values.tls.secretName) -}}
{{- fail "tls.secretName is needed in production: card numbers would come to the pods in clear" -}}
{{- end -}}
{{- if and (eq .Values.environment "production") (not .Values.database.separateLogins) -}}
{{- fail "database.separateLogins is needed in production: the login of the pods would own the tables" -}}
{{- end -}}
{{- if and (eq .Values.environment "production") (not .Values.journal.anchor) -}}
{{- fail "journal.anchor is needed in production: who writes to the database could cut off the end of the journal" -}}
{{- end -}}
{{- if and .Values.database.separateLogins (not .Values.migration.enabled) -}}
{{- fail "migration.enabled is needed with database.separateLogins: the login of the pods cannot migrate" -}}
{{- end -}}
{{- if and .Values.podDisruptionBudget.enabled (gt (int .Values.replicas) 1) (ge (int .Values.podDisruptionBudget.minAvailable) (int .Values.replicas)) -}}
{{- fail "podDisruptionBudget.minAvailable must be less than replicas, or no node can ever be drained" -}}
{{- end -}}
{{- end -}}
