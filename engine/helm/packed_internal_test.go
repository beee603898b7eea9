package helm

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
	corev1 "k8s.io/api/core/v1"
)

// packed returns a release Secret whose content has these parts. A part that is repeated is compressed once, which takes long with the race detector.
func packed(t *testing.T, parts ...string) *corev1.Secret {
	t.Helper()
	var all []byte
	members := map[string][]byte{}
	for _, part := range parts {
		if members[part] == nil {
			members[part] = compressed(t, part)
		}
		all = append(all, members[part]...)
	}
	data := base64.StdEncoding.EncodeToString(all)
	if len(data) > corev1.MaxSecretSize {
		t.Fatalf("the content takes %d bytes, which do not fit into a Secret", len(data))
	}
	return &corev1.Secret{Data: map[string][]byte{releaseKey: []byte(data)}}
}

// compressed returns a member of a gzip file.
func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	writer := gzip.NewWriter(&buffer)
	if _, err := writer.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// A release that anybody may have stored takes no more memory than its text, which is limited. It is not parallel, because it counts allocations.
func TestStoredReleasesTakeLittleMemory(t *testing.T) {
	many := strings.Repeat("{},", 50_000)
	text := `{"info":{"first_deployed":"2020-01-02T03:04:05Z","resources":{"a":[%]}},"chart":{"metadata":{"name":"till"},"templates":[%]},"config":{"a":[%]},"hooks":[%]}`
	const objects = 1000 // the lists have many more
	s := &storage{}
	for place := range 4 {
		parts := strings.Split(text, "%")
		secret := packed(t, strings.Join(parts[:place+1], "")+many+"{}"+strings.Join(parts[place+1:], ""))
		if count := testing.AllocsPerRun(1, func() {
			if read, err := s.summary(secret); err != nil || read.chart() != "till" || read.firstDeployed().Year() != 2020 {
				t.Errorf("the summary is %+v, %v", read, err)
			}
		}); count > objects {
			t.Errorf("the summary takes %g allocations with many objects in list %d", count, place)
		}
		if count := testing.AllocsPerRun(1, func() {
			if data, err := s.restate(secret, common.StatusSuperseded, ""); err != nil || data == nil {
				t.Errorf("the release was not changed: %v", err)
			}
		}); count > objects {
			t.Errorf("the change of the status takes %g allocations with many objects in list %d", count, place)
		}
	}
	megabyte := strings.Repeat("{}, ", 1<<18)
	bomb := packed(t, slices.Concat([]string{`{"info":{},"hooks":[`}, slices.Repeat([]string{megabyte}, maxUnpacked>>20), []string{`{}]}`})...)
	if _, err := s.summary(bomb); !errors.Is(err, errTooLarge) {
		t.Errorf("the summary of a release that is too large: %v, want %v", err, errTooLarge)
	}
	if data, err := s.restate(bomb, common.StatusSuperseded, ""); data != nil || err != nil {
		t.Errorf("a release that is too large was changed to %d bytes, %v", len(data), err)
	}
}

// A change of the status keeps all other fields.
func TestRestate(t *testing.T) {
	t.Parallel()
	const text = `{"name":"one","info":{"first_deployed":"2020-01-02T03:04:05.5+01:00","last_deployed":"","deleted":"","description":"d","status":"deployed","notes":"n"},` +
		`"chart":{"metadata":{"name":"till"}},"config":{"a":[1.50]},"manifest":"<m>","hooks":[{"name":"h","last_run":{"phase":""}}],"version":3,"namespace":"ns","apply_method":"csa"}`
	s := &storage{}
	for description, want := range map[string]string{"": "d", "other": "other"} {
		data, err := s.restate(packed(t, text), common.StatusSuperseded, description)
		if err != nil {
			t.Fatal(err)
		}
		var got json.RawMessage
		if err := decode(&corev1.Secret{Data: map[string][]byte{releaseKey: data}}, &got); err != nil {
			t.Fatal(err)
		}
		wanted := strings.NewReplacer(`"description":"d"`, `"description":"`+want+`"`, `"status":"deployed"`, `"status":"superseded"`, "<m>", `\u003cm\u003e`).Replace(text)
		if string(got) != wanted {
			t.Errorf("the release is\n%s, want\n%s", got, wanted)
		}
	}
	for _, bad := range []string{`{}`, `[]`, `{"info":`, `{"info":[]}`} {
		if data, err := s.restate(packed(t, bad), common.StatusSuperseded, ""); data != nil || err != nil {
			t.Errorf("%s was changed to %s, %v", bad, data, err)
		}
		if read, err := s.summary(packed(t, bad)); err == nil {
			t.Errorf("%s has the summary %+v", bad, read)
		}
	}
}

// A release that could not be read again is not stored.
func TestEncodeRefusesWhatDecodeRefuses(t *testing.T) {
	t.Parallel()
	_, err := encode(&release.Release{Manifest: strings.Repeat("a", maxUnpacked)})
	stalled := (interface{ Stalled() string })(nil)
	if !errors.As(err, &stalled) || stalled.Stalled() != ReasonReleaseTooLarge {
		t.Errorf("the error is %v, want one with the reason %s", err, ReasonReleaseTooLarge)
	}
}
