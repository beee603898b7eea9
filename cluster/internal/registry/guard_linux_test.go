package registry_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/operon-framework/operon/cluster/internal/registry"
	"github.com/operon-framework/operon/cluster/internal/testaid"
)

// asking makes the test binary send a request to a registry as another user.
const asking = "OPERON_TEST_ASKS"

func TestMain(m *testing.M) {
	if url := os.Getenv(asking); url != "" {
		response, err := http.Get(url)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(response.StatusCode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Only the permitted users are accepted, only with the registry's host names, and only while their side of the connection is
// open.
func TestGuard(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	guard := registry.Guard{
		Users: []uint32{uint32(os.Geteuid())}, Hosts: []string{address},
		Next: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {}),
	}
	server := guard.Server()
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	if got := ask(t, address, ""); got != http.StatusOK {
		t.Errorf("its user gets %d", got)
	}
	if got := ask(t, address, "page.example:80"); got != http.StatusMisdirectedRequest {
		t.Errorf("another name gets %d", got)
	}
	if os.Geteuid() != 0 {
		testaid.Lacks(t, "only root can ask as another user")
	}
	for user, want := range map[uint32]string{0: "200", 65534: "403"} {
		if got := askAs(t, user, "http://"+address); got != want {
			t.Errorf("user %d gets %s, want %s", user, got, want)
		}
	}
}

func ask(t *testing.T, address, host string) int {
	t.Helper()
	request, err := http.NewRequest("GET", "http://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// askAs sends a request as another user. It executes an open file of this binary, because that user may not have access to its
// directory.
func askAs(t *testing.T, user uint32, url string) string {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	command := exec.Command("/proc/self/fd/3")
	command.ExtraFiles = []*os.File{self}
	command.Env = []string{asking + "=" + url}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return strings.TrimSpace(string(said))
}
