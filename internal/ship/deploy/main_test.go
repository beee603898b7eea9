package deploy_test

import (
	"flag"
	"os"
	"testing"

	"github.com/operon-framework/operon/internal/ship/deploy"
)

// TestMain runs more tests in parallel than there are processors: tests spend most of their time waiting, especially for
// clusters to delete namespaces. With -short, no test runs containers, whose images the kubelet pulls again.
func TestMain(m *testing.M) {
	if dir := os.Getenv(deploysProject); dir != "" {
		deployUntilKilled(dir)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil {
		panic(err)
	}
	if testing.Short() {
		deploy.HurrySecondTry()
	}
	os.Exit(m.Run())
}
