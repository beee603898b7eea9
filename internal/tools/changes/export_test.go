package changes

import "testing"

// LeaveHalf does what a process does that is killed after it moved so many files.
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
	for i, path := range set.Paths() {
		one, err := st.prepare(i, set.file(path), set.wanted[path].bytes)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, one)
	}
	if err := st.record(steps); err != nil {
		t.Fatal(err)
	}
	for _, one := range steps[:moved] {
		if err := one.do(); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.lock.Unlock(); err != nil { // as the end of a process does
		t.Fatal(err)
	}
}

// Hold is a process that is about to write into dir, until release.
func Hold(t *testing.T, dir string) (release func()) {
	t.Helper()
	st, err := newStage(dir)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := st.lock.Unlock(); err != nil {
			t.Error(err)
		}
	}
}
