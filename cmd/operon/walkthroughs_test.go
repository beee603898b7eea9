package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/operon-framework/operon/internal/testing/testaid"
)

// The PodRequest walkthrough works as described, with real containers, and results in examples/podrequest.
func TestPodRequestWalkthrough(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	r.follow("../../docs/walkthroughs/podrequest.md")
	const example = "../../examples/podrequest"
	for _, file := range []string{"podrequest.go", "api/v1alpha1/podrequest_types.go", "config/samples/podrequest.yaml"} {
		got := testaid.Read(t, filepath.Join(r.dir, file))
		here := strings.ReplaceAll(got, "jewzaam.org/pod-operator/", "github.com/operon-framework/operon/examples/podrequest/")
		if here != testaid.Read(t, filepath.Join(example, file)) {
			t.Errorf("%s of the example is not what the page comes to:\n%s", file, got)
		}
	}
}

// The MySQLCluster walkthrough works as described, with MariaDB in real containers, and results in examples/mysqlcluster-ansible.
func TestMySQLClusterWalkthrough(t *testing.T) {
	testaid.Slow(t, "it runs database servers in containers; package engine/ansible tests roles, TestPodRequestWalkthrough containers")
	t.Parallel()
	r := newReader(t)
	r.follow("../../docs/walkthroughs/mysqlcluster.md")
	r.has("../../examples/mysqlcluster-ansible")
}

// The same with a Helm chart results in examples/mysqlcluster-helm. Helm installs the published chart of the operator from the registry,
// and takes it from the chart repository.
func TestMySQLClusterHelmWalkthrough(t *testing.T) {
	testaid.Slow(t, "it runs database servers in containers; package engine/helm tests charts, internal/ship/chart their packages, TestPodRequestWalkthrough containers")
	t.Parallel()
	r := newReader(t)
	r.clone()
	r.here = strings.NewReplacer("5000", freePort(t)) // the port of the registry
	r.withHelm()
	r.withGnuPG()
	r.follow("../../docs/walkthroughs/mysqlcluster-helm.md")
	r.has("../../examples/mysqlcluster-helm")

	repository := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(r.dir, "dist"))))
	t.Cleanup(repository.Close)
	r.paste("cd ..\nhelm pull --repo " + repository.URL + " mysqlcluster-helm --version 1.2.0 --verify --keyring public.gpg\n" +
		"cmp mysqlcluster-helm-1.2.0.tgz mysqlcluster-helm/dist/mysqlcluster-helm-1.2.0.tgz\n")
}

// The lifecycle manager installs, upgrades and uninstalls an operator, as in the guide of the Operator Framework. The page itself compares the
// pods before and after the upgrade, and what the cluster has before and after all.
func TestMemcachedOLMWalkthrough(t *testing.T) {
	testaid.Slow(t, "it installs and upgrades in containers twice; package internal/ship/bundle/bundletest does that with operators outside of the cluster, and module olm tests the manager and its commands")
	t.Parallel()
	r := newReader(t)
	r.clone()
	r.here = strings.NewReplacer("5000", freePort(t)) // the port of the registry
	r.follow("../../docs/walkthroughs/memcached-olm.md")
}

// has compares the project in the current directory with an example. Only the example's README.md may differ.
func (r *reader) has(example string) {
	r.t.Helper()
	err := filepath.WalkDir(example, func(path string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() || file.Name() == "README.md" {
			return err
		}
		name, err := filepath.Rel(example, path)
		if err != nil {
			return err
		}
		if got := testaid.Read(r.t, filepath.Join(r.dir, name)); got != testaid.Read(r.t, path) {
			r.t.Errorf("%s of the example is not what the page comes to:\n%s", name, got)
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// withHelm adds Helm, which is built from the version that the benchmarks pin, and which keeps its files in directories of the test.
func (r *reader) withHelm() {
	r.t.Helper()
	find := exec.CommandContext(r.t.Context(), "go", "tool", "-n", "helm")
	find.Dir, find.Stderr = "../../bench", os.Stderr
	path, err := find.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := os.Symlink(strings.TrimSpace(string(path)), filepath.Join(r.bin, "helm")); err != nil {
		r.t.Fatal(err)
	}
	home := r.t.TempDir()
	r.env = append(r.env, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
}

// withGnuPG gives GnuPG a directory of its own, and stops the agent that it starts.
func (r *reader) withGnuPG() {
	r.t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		testaid.Lacks(r.t, "the chart is signed with a key of GnuPG: %v", err)
	}
	home := "GNUPGHOME=" + shortFolder(r.t)
	r.env = append(r.env, home)
	r.t.Cleanup(func() {
		stop := exec.Command("gpgconf", "--kill", "gpg-agent")
		stop.Env = append(os.Environ(), home)
		if said, err := stop.CombinedOutput(); err != nil {
			r.t.Errorf("%v\n%s", err, said)
		}
	})
}

// freePort returns a port of the loopback interface that is free.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err := errors.Join(err, listener.Close()); err != nil {
		t.Fatal(fmt.Errorf("find a free port: %w", err))
	}
	return port
}
