package plan

import (
	"fmt"
	"strings"
	"testing"
)

func TestClaimedKindsAreLimited(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 37000 {
		many = append(many, fmt.Sprintf("K.g%d", i))
	}
	for text, want := range map[string]int{
		"":                                     0,
		"ConfigMap,Deployment.apps":            2,
		strings.Join(many, ","):                maxClaimed,
		strings.Repeat("x", maxClaimedBytes+1): 0, // a name that is cut is another name
		"A," + strings.Repeat("x", 256<<10):    1,
	} {
		if got := ClaimedKinds(map[string]string{KindsAnnotation: text}); len(got) != want {
			t.Errorf("%d kinds of %d bytes, want %d", len(got), len(text), want)
		}
	}
}
