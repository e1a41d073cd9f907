// What the lines of a history say, and what can be gathered from all of them about each request: which transaction came of it, by when
// that was certain, and how it ended.
package main

import "math"

type shown struct {
	Audit            int    `json:"audit"`
	Type             string `json:"type"`
	Reference        string `json:"reference"`
	TargetAudit      int    `json:"targetAudit"`
	AmountCents      int    `json:"amountCents"`
	Status           string `json:"status"`
	GatewayCode      int    `json:"gatewayCode"`
	RefundableCents  *int   `json:"refundableCents"`
	CompletableCents *int   `json:"completableCents"`
}

type record struct {
	Kind          string   `json:"kind"`
	LenientVoids  bool     `json:"lenientVoids"`
	CorrelationID string   `json:"correlationId"`
	Reference     string   `json:"reference"`
	TargetAudit   int      `json:"targetAudit"`
	AmountCents   int      `json:"amountCents"`
	SentMs        float64  `json:"sentMs"`
	LeftMs        *float64 `json:"leftMs"`
	EndMs         float64  `json:"endMs"`
	Status        int      `json:"status"`
	Code          string   `json:"code"`
	Audit         int      `json:"audit"`
	Shown         []shown  `json:"shown"`
}

func (one record) creates() bool {
	switch one.Kind {
	case "purchase", "preauthorisation", "refund", "completion", "void":
		return true
	}
	return false
}

// A transaction, as all that was shown of it tells.
type fact struct {
	audit       int
	reference   string
	kind        string
	target      int
	amountCents int
	// Of its last sight. What is voided in the end had been approved.
	outcome     string
	gatewayCode int
	// It was there by then, and decided by then.
	thereMs   float64
	decidedMs float64
	lastMs    float64
}

type facts struct {
	byReference map[string]*fact
	byAudit     map[int]*fact
}

func gather(records []record) facts {
	all := facts{map[string]*fact{}, map[int]*fact{}}
	for _, one := range records {
		for _, seen := range one.Shown {
			known := all.byAudit[seen.Audit]
			if known == nil {
				known = &fact{
					audit: seen.Audit, reference: seen.Reference, kind: seen.Type, target: seen.TargetAudit,
					amountCents: seen.AmountCents, thereMs: math.Inf(1), decidedMs: math.Inf(1),
				}
				all.byAudit[seen.Audit] = known
				all.byReference[seen.Reference] = known
			}
			// The answer to a void does not say how much it undoes.
			if known.amountCents == 0 {
				known.amountCents = seen.AmountCents
			}
			known.thereMs = math.Min(known.thereMs, one.EndMs)
			if seen.Status != "unknown" {
				known.decidedMs = math.Min(known.decidedMs, one.EndMs)
			}
			if one.EndMs >= known.lastMs {
				known.lastMs = one.EndMs
				known.outcome = seen.Status
				known.gatewayCode = seen.GatewayCode
				if seen.Status == "voided" {
					known.outcome = "approved"
				}
			}
		}
	}
	// An answer that names a transaction, or refuses another for its sake, shows that it is there.
	for _, one := range records {
		if known := all.byAudit[one.Audit]; known != nil && one.creates() {
			known.thereMs = math.Min(known.thereMs, one.EndMs)
		}
	}
	return all
}

// Nanoseconds, as porcupine counts.
func at(ms float64) int64 {
	if math.IsInf(ms, 1) {
		return math.MaxInt64
	}
	return int64(ms * 1e6)
}
