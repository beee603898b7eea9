//go:build linux

package pagecache

import (
	"os"
	"testing"
)

// Released pages must be identical to the file: other pages have no second copy.
func TestMappingsTellWhatIsWhole(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := mappings(program)
	if err != nil {
		t.Fatal(err)
	}
	whole, changed := 0, 0
	for _, m := range mapped {
		if m.end <= m.begin {
			t.Errorf("mapping from %x to %x", m.begin, m.end)
		}
		if m.whole {
			whole++
			continue
		}
		changed++
	}
	if whole == 0 || changed == 0 {
		t.Errorf("%d mappings of the program are whole and %d are not, want some of both: code, and variables", whole, changed)
	}
	if err := ReleaseCode(); err != nil {
		t.Fatal(err)
	}
	if again, err := mappings(program); err != nil || len(again) != len(mapped) {
		t.Errorf("afterwards %d mappings, before %d: %v", len(again), len(mapped), err)
	}
}
