// A payment and everything that follows it. What is accepted happens in two moments: it is claimed, with what it needs of its target, and
// later its outcome settles. What is refused, and every look, happens in one moment, in which the state must be as it was said to be.
package main

import (
	"fmt"
	"reflect"

	"github.com/anishathalye/porcupine"
)

type life struct {
	audit, target, amountCents, refundedCents, completedBy, voidedBy int
	kind, status                                                     string
}

func (one life) refundable() (cents int, open bool) {
	left := one.amountCents - one.refundedCents
	open = (one.kind == "purchase" || one.kind == "completion") && one.status == "approved" && one.voidedBy == 0
	return left, open && left > 0
}

func (one life) completable() bool {
	return one.kind == "preauthorisation" && one.status == "approved" && one.completedBy == 0 && one.voidedBy == 0
}

func (one life) voidable() bool {
	untouched := one.refundedCents == 0 && one.completedBy == 0 && one.voidedBy == 0
	return one.kind != "void" && one.status == "approved" && untouched
}

// By audit. Never changed: each step makes another.
type state map[int]life

func (before state) with(changes ...life) state {
	after := make(state, len(before)+1)
	for audit, one := range before {
		after[audit] = one
	}
	for _, one := range changes {
		after[one.audit] = one
	}
	return after
}

type familyInput struct {
	what        string // claim, settle, look, refuse
	kind        string
	audit       int
	target      int
	amountCents int
	outcome     string
	code        string
	seen        shown
}

func (one familyInput) String() string {
	switch one.what {
	case "claim":
		return fmt.Sprintf("%s %d of %d claimed, target %d", one.kind, one.audit, one.amountCents, one.target)
	case "settle":
		return fmt.Sprintf("%d settles: %s", one.audit, one.outcome)
	case "refuse":
		return fmt.Sprintf("%s of %d, target %d, refused: %s", one.kind, one.amountCents, one.target, one.code)
	}
	return fmt.Sprintf("%d seen %s, to refund %s, to complete %s", one.audit, one.seen.Status,
		cents(one.seen.RefundableCents), cents(one.seen.CompletableCents))
}

func cents(some *int) string {
	if some == nil {
		return "nothing"
	}
	return fmt.Sprint(*some)
}

func familyModel(lenient bool) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return state{} },
		Step: func(before, input, _ interface{}) (bool, interface{}) {
			return step(before.(state), input.(familyInput), lenient)
		},
		Equal: func(one, other interface{}) bool { return reflect.DeepEqual(one, other) },
	}
}

func step(before state, one familyInput, lenient bool) (bool, state) {
	switch one.what {
	case "claim":
		return claim(before, one)
	case "settle":
		return settle(before, one)
	case "refuse":
		// The close of a business day ends what can be voided.
		if one.code == "target_not_voidable" && lenient {
			return true, before
		}
		return refusal(before, one) == one.code, before
	}
	target, known := before[one.audit]
	if !known {
		return false, before
	}
	left, open := target.refundable()
	fits := target.status == one.seen.Status && open == (one.seen.RefundableCents != nil) &&
		(!open || left == *one.seen.RefundableCents) &&
		target.completable() == (one.seen.CompletableCents != nil)
	return fits, before
}

func claim(before state, one familyInput) (bool, state) {
	made := life{audit: one.audit, target: one.target, kind: one.kind, amountCents: one.amountCents, status: "unknown"}
	if _, known := before[one.audit]; known {
		return false, before
	}
	if one.target == 0 {
		return true, before.with(made)
	}
	if refusal(before, one) != "" {
		return false, before
	}
	target := before[one.target]
	switch one.kind {
	case "refund":
		target.refundedCents += one.amountCents
	case "completion":
		target.completedBy = one.audit
	case "void":
		target.voidedBy = one.audit
	}
	return true, before.with(target, made)
}

func settle(before state, one familyInput) (bool, state) {
	settled, known := before[one.audit]
	if !known || settled.status != "unknown" {
		return false, before
	}
	settled.status = one.outcome
	after := before.with(settled)
	if one.outcome != "approved" {
		return true, released(after, settled)
	}
	if settled.kind != "void" {
		return true, after
	}
	undone := after[settled.target]
	undone.status = "voided"
	return true, released(after.with(undone), undone)
}

// What did not happen, or was voided, gives back to its target what it held.
func released(before state, one life) state {
	target, known := before[one.target]
	if !known {
		return before
	}
	switch one.kind {
	case "refund":
		target.refundedCents -= one.amountCents
	case "completion":
		target.completedBy = 0
	case "void":
		target.voidedBy = 0
	}
	return before.with(target)
}

// The code with which the target refuses; empty where it does not.
func refusal(before state, one familyInput) string {
	target, known := before[one.target]
	if !known {
		return "transaction_not_found"
	}
	switch one.kind {
	case "completion":
		if !target.completable() {
			return "target_not_completable"
		}
		if one.amountCents > target.amountCents {
			return "completion_exceeds_preauthorisation"
		}
	case "refund":
		left, open := target.refundable()
		if !open {
			if target.status == "approved" && target.refundedCents == target.amountCents {
				return "refund_exceeds_original"
			}
			return "target_not_refundable"
		}
		if one.amountCents > left {
			return "refund_exceeds_original"
		}
	case "void":
		if !target.voidable() {
			return "target_not_voidable"
		}
	}
	return ""
}

var refusals = map[string]bool{
	"target_not_completable": true, "target_not_refundable": true, "target_not_voidable": true,
	"completion_exceeds_preauthorisation": true, "refund_exceeds_original": true,
}

func familiesOf(records []record, all facts) map[int][]porcupine.Operation {
	var rootOf func(audit int) int
	rootOf = func(audit int) int {
		if known := all.byAudit[audit]; known != nil && known.target != 0 {
			return rootOf(known.target)
		}
		return audit
	}
	histories := map[int][]porcupine.Operation{}
	add := func(root int, callMs, returnMs float64, input familyInput) {
		histories[root] = append(histories[root],
			porcupine.Operation{Input: input, Call: at(callMs), Return: at(returnMs)})
	}
	for _, one := range records {
		if !one.creates() {
			for _, seen := range one.Shown {
				add(rootOf(seen.Audit), one.SentMs, one.EndMs, familyInput{what: "look", audit: seen.Audit, seen: seen})
			}
			continue
		}
		if one.Status == 422 && refusals[one.Code] {
			add(rootOf(one.TargetAudit), one.SentMs, one.EndMs, familyInput{
				what: "refuse", kind: one.Kind, target: one.TargetAudit, amountCents: one.AmountCents, code: one.Code})
			continue
		}
		// What nobody found in the end took no effect.
		made := all.byReference[one.Reference]
		if made == nil || one.Status == 409 {
			continue
		}
		root := rootOf(made.audit)
		add(root, one.SentMs, made.thereMs, familyInput{
			what: "claim", kind: made.kind, audit: made.audit, target: made.target, amountCents: made.amountCents})
		if made.outcome != "unknown" {
			add(root, one.SentMs, made.decidedMs, familyInput{what: "settle", audit: made.audit, outcome: made.outcome})
		}
	}
	return histories
}
