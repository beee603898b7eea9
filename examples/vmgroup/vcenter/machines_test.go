package vcenter_test

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/operon-framework/operon/external"

	"github.com/operon-framework/operon/examples/vmgroup/vcenter"
	"github.com/operon-framework/operon/examples/vmgroup/vcenter/simulated"
)

func access(t *testing.T, data map[string][]byte) vcenter.Access {
	t.Helper()
	a, err := vcenter.AccessFrom(data)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// key returns a key in the form in which package external creates it.
func key(name string) string {
	return external.KeyOf("uid", external.Ref{Kind: "machine", Name: name})
}

// A machine is created once even if its creation is repeated, found by its key, changed, and deleted.
func TestMachine(t *testing.T) {
	t.Parallel()
	v := simulated.Start(t)
	m := vcenter.Machines{Access: access(t, v.Secret()), Group: "web"}
	want := vcenter.Machine{CPU: 2, Memory: 4, Template: simulated.Template}
	ctx := t.Context()
	if id, err := m.Find(ctx, key("0")); id != "" || err != nil {
		t.Fatalf("found %q, %v", id, err)
	}
	id, err := m.Create(ctx, external.Mark{Key: key("0")}, want)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Create(ctx, external.Mark{Key: key("0")}, want); again != id || err != nil {
		t.Errorf("made a second time: %q, %v, want %q", again, err, id)
	}
	if found, err := m.Find(ctx, key("0")); found != id || err != nil {
		t.Errorf("found %q, %v, want %q", found, err, id)
	}
	look := func(want vcenter.Machine, exists bool, drift, immutable []string) {
		t.Helper()
		seen, err := m.Observe(ctx, id, want)
		if err != nil || seen.Exists != exists || !slices.Equal(seen.Drift, drift) || !slices.Equal(seen.Immutable, immutable) {
			t.Errorf("seen is %+v, %v", seen, err)
		}
	}
	look(want, true, nil, nil)
	want.CPU, want.Memory = 4, 8
	look(want, true, []string{"cpu", "memory"}, nil)
	if err := m.Update(ctx, id, want); err != nil {
		t.Fatal(err)
	}
	look(want, true, nil, nil)
	want.Template = "/DC0/vm/DC0_H0_VM1"
	look(want, true, nil, []string{"template"})
	for range 2 {
		if err := m.Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	look(want, false, nil, nil)
	if left, err := v.Machines(ctx, "web"); len(left) > 0 || err != nil {
		t.Errorf("left are %q, %v", left, err)
	}
}

// Errors are classified, and no message contains the password.
func TestMistakes(t *testing.T) {
	t.Parallel()
	v := simulated.Start(t)
	wrong := v.Secret()
	wrong[vcenter.PasswordKey] = []byte("battery staple")
	distrusted := v.Secret()
	delete(distrusted, vcenter.CAKey)
	nobody := v.Secret()
	nobody[vcenter.HostKey] = []byte("https://127.0.0.1:1/sdk")
	proxy := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>the gateway is being serviced")
	}))
	t.Cleanup(proxy.Close)
	garbage := v.Secret()
	garbage[vcenter.HostKey] = []byte(proxy.URL + "/sdk")
	garbage[vcenter.CAKey] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: proxy.Certificate().Raw})
	for name, c := range map[string]struct {
		data  map[string][]byte
		want  vcenter.Machine
		class external.Class
		text  string
	}{
		"garbage":              {garbage, vcenter.Machine{}, external.Away, "expected element type <Envelope>"},
		"a wrong password":     {wrong, vcenter.Machine{}, external.Denied, "does not accept user and password"},
		"a template not there": {v.Secret(), vcenter.Machine{Template: "/DC0/vm/none"}, external.Refused, "there is no machine /DC0/vm/none to clone"},
		"a stranger":           {distrusted, vcenter.Machine{}, external.Away, "certificate"},
		"nobody":               {nobody, vcenter.Machine{}, external.Away, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := vcenter.Machines{Access: access(t, c.data), Group: "web"}.Create(t.Context(), external.Mark{Key: key("0")}, c.want)
			if err == nil || external.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v of class %v, want %q of class %v", err, external.ClassOf(err), c.text, c.class)
			}
			if err != nil && strings.Contains(err.Error(), string(c.data[vcenter.PasswordKey])) {
				t.Errorf("%v holds the password", err)
			}
		})
	}
}

func TestAccess(t *testing.T) {
	t.Parallel()
	good := map[string][]byte{vcenter.HostKey: []byte("vc.example.com"), vcenter.UserKey: []byte("u"), vcenter.PasswordKey: []byte("secret-p")}
	a := access(t, good)
	if a.Host() != "vc.example.com" {
		t.Errorf("the host is %q", a.Host())
	}
	if printed := fmt.Sprintf("%v %+v %#v %s", a, a, a, vcenter.Machines{Access: a}); strings.Contains(printed, "secret-p") {
		t.Errorf("printed is %s", printed)
	}
	for key, value := range map[string]string{vcenter.HostKey: "", vcenter.UserKey: "", vcenter.PasswordKey: "", "VC_HOST ": "u:p@host"} {
		data := map[string][]byte{}
		for k, v := range good {
			data[k] = v
		}
		data[strings.TrimSpace(key)] = []byte(value)
		if _, err := vcenter.AccessFrom(data); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(key)) {
			t.Errorf("%s=%q: %v", key, value, err)
		}
	}
}

// A session that the vCenter has dropped is renewed.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	v := simulated.Start(t)
	m := vcenter.Machines{Access: access(t, v.Secret()), Group: "web"}
	if _, err := m.Find(t.Context(), key("0")); err != nil {
		t.Fatal(err)
	}
	v.EndSessions(t)
	if _, err := m.Find(t.Context(), key("0")); err != nil {
		t.Errorf("after the session ended: %v", err)
	}
	v.Expire(t)
	if _, err := m.Find(t.Context(), key("0")); external.ClassOf(err) != external.Denied {
		t.Errorf("after the password expired: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Find(ended, key("0")); !errors.Is(err, context.Canceled) {
		t.Errorf("a call whose context has ended: %v", err)
	}
}
