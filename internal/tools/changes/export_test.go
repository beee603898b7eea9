package changes

import "testing"

// LeaveHalf simulates a process that is killed after it changed a number of files.
func LeaveHalf(t *testing.T, dir string, files map[string]string, moved int) {
	t.Helper()
	set, err := In(dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, holds := range files {
		set.Write(path, []byte(holds))
	}
	st, err := newStage(dir)
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	for _, path := range set.Paths() {
		one, err := set.plan(st.root, path)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, one)
	}
	if err := st.record(steps); err != nil {
		t.Fatal(err)
	}
	for i, path := range set.Paths()[:moved] {
		if err := steps[i].do(st.root, set.wanted[path].bytes); err != nil {
			t.Fatal(err)
		}
	}
	if moved < len(steps) { // killed in the middle of a write
		if err := st.root.WriteFile(steps[moved].Part, []byte("incompl"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.close(); err != nil { // as when the process ends
		t.Fatal(err)
	}
}

// Hold simulates a process that is about to write to dir, until release is called.
func Hold(t *testing.T, dir string) (release func()) {
	t.Helper()
	st, err := newStage(dir)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := st.close(); err != nil {
			t.Error(err)
		}
	}
}
