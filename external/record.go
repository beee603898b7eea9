package external

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// RecordAnnotation on an owner holds the record of its external resources.
const RecordAnnotation = "operon.dev/external"

// Ref identifies a resource of an owner by its kind and name, as the author chose them.
type Ref struct{ Kind, Name string }

// String returns the kind and the name, such as machine/web-0.
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// Entry is the record of one resource. It has either the ID, or the token of a creation.
type Entry struct {
	ID string `json:"id,omitempty"`
	// Token is the token of the creation, and By identifies the process that recorded it. Both are removed when the ID is
	// recorded.
	Token string `json:"token,omitempty"`
	By    string `json:"by,omitempty"`
	// Orphan: the resource is left behind when it is no longer declared.
	Orphan bool `json:"orphan,omitempty"`
}

// Record is the record of the external resources of one owner.
type Record struct {
	// Owner is the UID of the owner.
	Owner   string
	Entries map[Ref]Entry
}

// version is the version of the format.
const version = 1

// MaxRecord is the maximum size of a record, in bytes. All annotations of an object together are limited to 256
// KiB.
const MaxRecord = 192 << 10

// written is the encoded form of a record.
type written struct {
	Version   int              `json:"version"`
	Owner     string           `json:"owner"`
	Resources map[string]Entry `json:"resources"`
}

// RecordError states why a record cannot be used. No external resource is changed then, because existing ones
// might be created twice or lost.
type RecordError struct{ Message string }

func (e *RecordError) Error() string {
	return fmt.Sprintf("the annotation %s %s", RecordAnnotation, e.Message)
}

// ParseRecord parses the record of an owner. An empty text is an empty record.
func ParseRecord(text, owner string) (*Record, error) {
	r := &Record{Owner: owner, Entries: map[Ref]Entry{}}
	if text == "" {
		return r, nil
	}
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &head); err != nil {
		return nil, &RecordError{fmt.Sprintf("cannot be read (%v): restore its former value", err)}
	}
	if head.Version != version {
		return nil, &RecordError{fmt.Sprintf("has version %d, and this operator knows %d: run the version of the operator that wrote it", head.Version, version)}
	}
	var w written
	strict := json.NewDecoder(strings.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&w); err != nil {
		return nil, &RecordError{fmt.Sprintf("cannot be read (%v): restore its former value", err)}
	}
	if w.Owner != owner {
		return nil, &RecordError{fmt.Sprintf(
			"is that of another object, whose UID was %q: write %q instead and change their keys in the external system to take over the external resources of that object, or remove the annotation to create all of them again",
			w.Owner, owner)}
	}
	for name, entry := range w.Resources {
		ref, err := ParseRef(name)
		if err == nil {
			err = entry.check()
		}
		if err != nil {
			return nil, &RecordError{fmt.Sprintf("cannot be used: %v: restore its former value", err)}
		}
		r.Entries[ref] = entry
	}
	return r, nil
}

func (e Entry) check() error {
	switch {
	case e.ID == "" && e.Token == "":
		return errors.New("a resource has neither id nor token")
	case e.ID != "" && e.Token != "":
		return errors.New("a resource has both an id and a token")
	case len(e.ID) > maxID:
		return errors.New("an id is longer than a kilobyte")
	}
	return nil
}

// Text returns the record as text, or "" if it is empty.
func (r *Record) Text() (string, error) {
	if len(r.Entries) == 0 {
		return "", nil
	}
	w := written{Version: version, Owner: r.Owner, Resources: map[string]Entry{}}
	for ref, entry := range r.Entries {
		w.Resources[ref.String()] = entry
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(w); err != nil {
		return "", err
	}
	if text.Len() > MaxRecord {
		return "", &RecordError{fmt.Sprintf("would have %d bytes, at most %d fit: declare fewer resources (there are %d) for one object", text.Len(), MaxRecord, len(r.Entries))}
	}
	return strings.TrimSpace(text.String()), nil
}

// name matches valid kinds and names.
var name = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)

// ParseRef parses a kind and a name, such as machine/web-0.
func ParseRef(text string) (Ref, error) {
	kind, rest, _ := strings.Cut(text, "/")
	ref := Ref{Kind: kind, Name: rest}
	return ref, ref.Check()
}

// Check returns an error if the kind and name cannot be recorded.
func (r Ref) Check() error {
	for _, part := range []string{r.Kind, r.Name} {
		if !name.MatchString(part) {
			return fmt.Errorf("external resource %q: kind and name are up to 63 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit", r)
		}
	}
	return nil
}

// KeyOf returns the key of a resource. It is the same in every process, as long as the owner exists, so that no
// resource is created twice even if the record is lost.
func KeyOf(owner string, ref Ref) string {
	sum := sha256.Sum256([]byte(owner + "\n" + ref.String()))
	return "k" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))[:25]
}
