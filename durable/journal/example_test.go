package journal_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/operon-framework/operon/durable/journal"
)

// A process crashes after its first step. The next process reads the journal from the object's status
// and picks up at the second step.
func ExampleJournal_Reach() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	j := journal.New("uid-of-the-database", 1, "", now)
	next, err := j.Reach(0, "dump", now)
	fmt.Println("dump:", next, err)
	j.Begun(0, "dump", now)
	if err := j.Done(0, `"db-1.dump"`, now); err != nil {
		panic(err)
	}

	stored, err := json.Marshal(j)
	if err != nil {
		panic(err)
	}
	var restored journal.Journal
	if err := json.Unmarshal(stored, &restored); err != nil {
		panic(err)
	}

	next, err = restored.Reach(0, "dump", now)
	fmt.Println("dump:", next, restored.Steps[0].Result, err)
	next, err = restored.Reach(1, "upload", now)
	fmt.Println("upload:", next, err)
	// Output:
	// dump: begin <nil>
	// dump: recall "db-1.dump" <nil>
	// upload: begin <nil>
}
