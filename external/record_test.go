package external_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/operon-framework/operon/external"
)

const owner = "0f9a"

func TestRecordSurvives(t *testing.T) {
	t.Parallel()
	record := &external.Record{Owner: owner, Entries: map[external.Ref]external.Entry{
		{Kind: "machine", Name: "web-0"}: {ID: "vm-<1>&"},
		{Kind: "machine", Name: "web-1"}: {Token: "t", By: "us", Orphan: true},
	}}
	text, err := record.Text()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":1,"owner":"0f9a","resources":{"machine/web-0":{"id":"vm-<1>&"},"machine/web-1":{"token":"t","by":"us","orphan":true}}}`
	if text != want {
		t.Errorf("written as %s, want %s", text, want)
	}
	again, err := external.ParseRecord(text, owner)
	if err != nil || !maps.Equal(again.Entries, record.Entries) {
		t.Errorf("read as %v, %v", again, err)
	}
	if empty, err := (&external.Record{Owner: owner}).Text(); empty != "" || err != nil {
		t.Errorf("an empty record is written as %q, %v", empty, err)
	}
}

func TestRecordsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`: "cannot be read",
		`{"version":2,"owner":"0f9a","resources":{},"new":1}`:                                "has version 2, and this operator knows 1",
		`{"version":1,"owner":"other","resources":{}}`:                                       `that of another object, whose UID was "other"`,
		`{"version":1,"owner":"0f9a","resources":{},"new":1}`:                                "unknown field",
		`{"version":1,"owner":"0f9a","resources":{"machine":{"id":"a"}}}`:                    `"machine/"`,
		`{"version":1,"owner":"0f9a","resources":{"machine/x":{}}}`:                          "neither id nor token",
		`{"version":1,"owner":"0f9a","resources":{"machine/x":{"id":"a","token":"t"}}}`:      "both an id and a token",
		`{"version":1,"owner":"0f9a","resources":{"Machine/x":{"id":"a"}}}`:                  "lower-case",
		`{"version":1,"owner":"0f9a","resources":{"machine/x":{"id":"` + long(2000) + `"}}}`: "longer than a kilobyte",
	} {
		_, err := external.ParseRecord(text, owner)
		var said *external.RecordError
		if !errors.As(err, &said) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), external.RecordAnnotation) {
			t.Errorf("%.80s: got %v, want an error with %q that names the annotation", text, err, want)
		}
	}
	large := &external.Record{Owner: owner, Entries: map[external.Ref]external.Entry{}}
	for i := range 400 {
		large.Entries[external.Ref{Kind: "k", Name: fmt.Sprint(i)}] = external.Entry{ID: long(1000)}
	}
	if _, err := large.Text(); err == nil || !strings.Contains(err.Error(), "fewer resources (there are 400)") {
		t.Errorf("a record that is too large: %v", err)
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestKeys(t *testing.T) {
	t.Parallel()
	key := external.KeyOf(owner, external.Ref{Kind: "machine", Name: "web-0"})
	if len(key) != 26 || key != strings.ToLower(key) || key[0] != 'k' {
		t.Errorf("the key is %q", key)
	}
	for _, other := range []string{
		external.KeyOf("1f9a", external.Ref{Kind: "machine", Name: "web-0"}),
		external.KeyOf(owner, external.Ref{Kind: "machine", Name: "web-1"}),
		external.KeyOf(owner, external.Ref{Kind: "disk", Name: "web-0"}),
	} {
		if other == key {
			t.Error("two resources have one key")
		}
	}
}

func TestResolved(t *testing.T) {
	t.Parallel()
	said, err := external.ParseResolved("machine/a=vm-1, machine/b=none")
	if err != nil || said[external.Ref{Kind: "machine", Name: "a"}] != "vm-1" || said[external.Ref{Kind: "machine", Name: "b"}] != external.None {
		t.Errorf("got %v, %v", said, err)
	}
	for _, text := range []string{"machine/a", "machine/a=", "a=b", "machine/a=1,machine/a=2", ","} {
		if _, err := external.ParseResolved(text); err == nil || !strings.Contains(err.Error(), external.ResolvedAnnotation) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	if p, err := external.PolicyOf("orphan"); err != nil || p != (external.Policy{Orphan: true}) {
		t.Errorf("orphan: %+v, %v", p, err)
	}
	if _, err := external.PolicyOf("keep"); err == nil || !strings.Contains(err.Error(), `is "keep": want observe or orphan`) {
		t.Errorf("keep: %v", err)
	}
}

// Any content of the annotation can be parsed without a panic. A parsed record is written in a form that parses to the same
// record.
func FuzzParseRecord(f *testing.F) {
	f.Add(`{"version":1,"owner":"0f9a","resources":{"machine/web-0":{"id":"vm-1"}}}`)
	f.Add(`{"version":1,"owner":"0f9a","resources":{"machine/web-0":{"token":"t","by":"b"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		record, err := external.ParseRecord(text, owner)
		if err != nil {
			return
		}
		written, err := record.Text()
		if err != nil {
			t.Skip("what was read is too large to be written: ", err)
		}
		again, err := external.ParseRecord(written, owner)
		if err != nil || !maps.Equal(record.Entries, again.Entries) {
			t.Errorf("%q was read as %v, and what was written of that as %v, %v", text, record, again, err)
		}
	})
}

func FuzzParseResolved(f *testing.F) {
	f.Add("machine/a=vm-1,machine/b=none")
	f.Fuzz(func(t *testing.T, text string) {
		said, err := external.ParseResolved(text)
		for ref, id := range said {
			if err != nil || id == "" || ref.Check() != nil {
				t.Errorf("%q was read as %v, %v", text, said, err)
			}
		}
	})
}
