package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Each table of the README says when and at which commit it was measured, and its section which directories it is about.
func TestTablesSayWhenTheyWereMeasured(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, one := range tables(string(text)) {
		found[one.section] = true
		if one.commit == "" {
			t.Errorf("bench/README.md:%d: the section %q does not say before this table when it was measured: want a day and a commit, as in 2026-11-28 at 60e5f519", one.line, one.section)
		}
		for _, dir := range covers[one.section] {
			if _, err := os.Stat(filepath.Join("..", "..", dir)); err != nil {
				t.Errorf("section %q: %v", one.section, err)
			}
		}
		if len(covers[one.section]) == 0 {
			t.Errorf("bench/README.md:%d: the variable covers has no directories for the section %q", one.line, one.section)
		}
	}
	if len(found) != len(covers) {
		t.Errorf("the README has the sections %q, the variable covers %q", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(covers)))
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	got := tables("# A\n\n## B\n\nOn 2026-11-21 at abcdef0, one run:\n\n| x |\n| --- |\n| 1 |\n\n```sh\n| no table\n```\n\nLater, on 2026-11-22 at 1234567:\n\n| y |\n| --- |\n\n## C\n\n| z |\n")
	want := []table{{"B", 7, "2026-11-21", "abcdef0"}, {"B", 17, "2026-11-22", "1234567"}, {"C", 22, "", ""}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
