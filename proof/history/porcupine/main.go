// Judges a recorded history with porcupine, which knows nothing of this gateway: is there an order of everything that happened that the
// model allows, and that keeps to what was before what? Reads JSON lines, says one line for each history that has none.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

const limitOfEach = 60 * time.Second

func main() {
	records, lenient := read(os.Stdin)
	facts := gather(records)
	judged, operations, broken, undecided := 0, 0, 0, 0
	judge := func(name string, model porcupine.Model, history []porcupine.Operation) {
		judged++
		operations += len(history)
		switch porcupine.CheckOperationsTimeout(model, history, limitOfEach) {
		case porcupine.Illegal:
			broken++
			fmt.Printf("BROKEN %s\n", name)
			sort.Slice(history, func(i, j int) bool { return history[i].Call < history[j].Call })
			for _, one := range history {
				fmt.Printf("  %.1f to %.1f ms: %v\n", float64(one.Call)/1e6, float64(one.Return)/1e6, one.Input)
			}
		case porcupine.Unknown:
			undecided++
			fmt.Printf("UNDECIDED %s: %d operations\n", name, len(history))
		}
	}
	families := familiesOf(records, facts)
	for _, root := range sortedKeys(families) {
		judge(fmt.Sprintf("transaction %d and what followed it", root), familyModel(lenient), families[root])
	}
	ids := idsOf(records, facts)
	for _, id := range sortedKeys(ids) {
		judge("correlation ID "+id, idModel, ids[id])
	}
	fmt.Printf("porcupine: %d histories of %d operations, %d broken, %d undecided\n", judged, operations, broken, undecided)
	if broken > 0 {
		os.Exit(1)
	}
}

func read(file *os.File) (records []record, lenient bool) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<20), 1<<26)
	for lines.Scan() {
		var one record
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if one.Kind == "header" {
			lenient = one.LenientVoids
		} else {
			records = append(records, one)
		}
	}
	return records, lenient
}

func sortedKeys[Key int | string, Value any](all map[Key]Value) []Key {
	keys := make([]Key, 0, len(all))
	for key := range all {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}
