// A correlation ID as a register: empty until one request wins it, and that one's for ever.
package main

import (
	"fmt"
	"math"

	"github.com/anishathalye/porcupine"
)

// A winner makes a transaction; a sight names the one that holds the ID, 0 for none.
type idInput struct {
	wins  bool
	audit int
	words string
}

func (one idInput) String() string { return one.words }

var idModel = porcupine.Model{
	Init: func() interface{} { return 0 },
	Step: func(state, input, _ interface{}) (bool, interface{}) {
		one := input.(idInput)
		if one.wins {
			return state.(int) == 0, one.audit
		}
		return state.(int) == one.audit, state
	},
}

func idsOf(records []record, all facts) map[string][]porcupine.Operation {
	// When an ID was first searched for and said to be empty, by when the searches were sent.
	empties := map[string][]float64{}
	for _, one := range records {
		if one.Kind == "search" && one.Status == 200 && len(one.Shown) == 0 {
			empties[one.CorrelationID] = append(empties[one.CorrelationID], one.SentMs)
		}
	}
	histories := map[string][]porcupine.Operation{}
	add := func(one record, returnMs float64, input idInput) {
		histories[one.CorrelationID] = append(histories[one.CorrelationID],
			porcupine.Operation{Input: input, Call: at(one.SentMs), Return: at(returnMs)})
	}
	for _, one := range records {
		switch {
		case one.Kind == "search" && one.Status == 200:
			holder := 0
			if len(one.Shown) > 0 {
				holder = one.Shown[0].Audit
			}
			add(one, one.EndMs, idInput{audit: holder, words: fmt.Sprintf("search finds %d", holder)})
		case one.creates() && one.Status == 409:
			add(one, one.EndMs, idInput{audit: one.Audit, words: fmt.Sprintf("409 for the sake of %d", one.Audit)})
		case one.creates():
			won := all.byReference[one.Reference]
			if won == nil {
				// Refused, or nothing came of it: an operation that took no effect.
				continue
			}
			// It was there when somebody first saw it. And what had left when a search began that found nothing may not come later,
			// unless nothing was sent to the acquirer.
			returnMs := won.thereMs
			harmless := won.outcome == "error" && won.gatewayCode == 1
			for _, emptyMs := range empties[one.CorrelationID] {
				if one.LeftMs != nil && *one.LeftMs < emptyMs && !harmless {
					returnMs = math.Min(returnMs, emptyMs)
				}
			}
			add(one, math.Max(returnMs, one.SentMs), idInput{wins: true, audit: won.audit,
				words: fmt.Sprintf("%s %s becomes %d, %s", one.Kind, one.Reference, won.audit, won.outcome)})
		}
	}
	return histories
}
