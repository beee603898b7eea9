package serve

import "testing"

// Only pages that are those of the file are released: the variables of the program stay.
func TestReleaseCode(t *testing.T) {
	t.Parallel()
	mapped, err := programMappings()
	if err != nil {
		t.Fatal(err)
	}
	pristine := 0
	for _, m := range mapped {
		if m.end <= m.begin {
			t.Errorf("mapping from %x to %x", m.begin, m.end)
		}
		if m.pristine {
			pristine++
		}
	}
	if pristine == 0 || pristine == len(mapped) {
		t.Errorf("%d of %d mappings of the program are pristine, want some: code, but not variables", pristine, len(mapped))
	}
	if err := releaseCode(); err != nil {
		t.Fatal(err)
	}
}
