package instance

import (
	"net"
	"strconv"
	"strings"
	"testing"
)

func TestPublications(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"8080:30080": "127.0.0.1:8080 30080", "0:80": "127.0.0.1:0 80", "0.0.0.0:8080:80": "0.0.0.0:8080 80", "[::1]:8080:80": "[::1]:8080 80",
		"8080": "", "": "", ":80": "", "8080:": "", "8080:0": "", "8080:http": "", "70000:80": "", "8080:70000": "", "host:8080:80": "", "8080:80/udp": "",
	} {
		at, port, err := parsePublication(text)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "want HOSTPORT:NODEPORT, such as 8080:30080, with ports up to 65535") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		fields := strings.Fields(want)
		if err != nil || at.String() != fields[0] || strconv.Itoa(int(port)) != fields[1] {
			t.Errorf("%q: %s, %d, %v", text, at, port, err)
		}
	}
}

// A port that is in use is reported, and no listener on another port stays open.
func TestPublishedPortIsTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	all, err := publishPorts(Spec{Publish: []string{"0:80", taken.Addr().String() + ":80"}})
	if err == nil || !strings.Contains(err.Error(), "address already in use; choose another port") {
		t.Fatalf("%v", err)
	}
	if conn, err := net.Dial("tcp", all[0].listener.Addr().String()); err == nil {
		conn.Close()
		t.Error("the port that was free stays open")
	}
}
